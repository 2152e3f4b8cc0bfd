// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// onTerminal starts milepost as the shell of a terminal of its own, and collects what the terminal shows.
func (b *bench) onTerminal(args ...string) (*process, *os.File) {
	b.t.Helper()
	withDir := append([]string{args[0], "--dir", b.dir}, args[1:]...)
	p := &process{t: b.t, cmd: b.command(withDir...)}
	master, err := pty.StartWithSize(p.cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		b.t.Skipf("no pseudo terminal on this machine: %v", err)
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(&p.stdout, master) // ends when the last process leaves the terminal
	}()
	b.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = master.Close()
		<-copied
	})
	return p, master
}

// ended waits for the end of milepost and of its output.
func (p *process) ended() result {
	p.t.Helper()
	got := p.wait()
	eventually(p.t, "the last line is there", func() bool { return strings.Contains(p.stdout.text(), "TrainJob with its status") })
	got.stdout = p.stdout.text()
	return got
}

func TestALiveBarStandsBelowTheOutput(t *testing.T) {
	b := newBench(t)
	p, _ := b.onTerminal(append([]string{"run", "--name", "digits", "--"}, training(t, atHalf, "terminal", "say:hello", "await:"+b.file("go"))...)...)
	// In the last row of 24, with colours: an empty NO_COLOR does not count.
	bar := regexp.MustCompile(`\x1b7\x1b\[24;1H\x1b\[0mdigits  \x1b\[36m━━━━━━━━━\x1b\[0m\x1b\[2m─+\x1b\[0m  \x1b\[1m 45%\x1b\[0m  1[123]s left  \x1b\[2mloss\x1b\[0m 0\.5  \x1b\[2m\ds\x1b\[0m\x1b\[K\x1b8`)
	eventually(t, "the bar shows the report", func() bool { return bar.MatchString(p.stdout.text()) })
	eventually(t, "the output is there", func() bool { return strings.Contains(p.stdout.text(), "hello\r\n") })
	if err := os.WriteFile(b.file("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := p.ended()
	if got.code != 0 {
		t.Errorf("exit code %d: the command did not see a terminal", got.code)
	}
	if !strings.Contains(got.stdout, "\x1b7\x1b[r\x1b[24;1H\x1b[0m\x1b[K\x1b8") {
		t.Errorf("the terminal is not given back:\n%q", got.stdout)
	}
	if rest := got.stdout[strings.LastIndex(got.stdout, "milepost: digits Complete"):]; strings.ContainsRune(rest, '\x1b') {
		t.Errorf("the closing lines hold escapes: %q", rest)
	}
}

func TestCtrlCReachesTheCommandOnce(t *testing.T) {
	b := newBench(t)
	p, keyboard := b.onTerminal(append([]string{"run", "--name", "digits", "--"}, training(t, "trap:INT=caught", "await:"+b.file("go"), "exit:130")...)...)
	eventually(t, "the command traps the signal", func() bool { return strings.Contains(p.stdout.text(), "trapping") })
	for n := range 2 {
		if _, err := keyboard.WriteString("\x03"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the command has the signal", func() bool { return strings.Count(p.stdout.text(), "caught") > n })
	}
	if err := os.WriteFile(b.file("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := p.ended(); got.code != 130 || strings.Count(got.stdout, "caught") != 2 {
		t.Errorf("exit code %d and %d signals, want 130 and 2", got.code, strings.Count(got.stdout, "caught"))
	}
}

func TestTheCommandReadsFromTheTerminal(t *testing.T) {
	b := newBench(t)
	p, keyboard := b.onTerminal(append([]string{"run", "--name", "digits", "--"}, training(t, "say:ready", "read")...)...)
	eventually(t, "the command is ready", func() bool { return strings.Contains(p.stdout.text(), "ready") })
	if _, err := keyboard.WriteString("breakpoint\n"); err != nil {
		t.Fatal(err)
	}
	if got := p.ended(); got.code != 0 || !strings.Contains(got.stdout, "read breakpoint\r\n") {
		t.Errorf("exit code %d, output %q", got.code, got.stdout)
	}
}

// Where no shell could continue the job, the stop key has no effect, as the kernel has it without milepost.
func TestTheStopKeyWithoutAShellStopsNothing(t *testing.T) {
	b := newBench(t)
	p, keyboard := b.onTerminal(append([]string{"run", "--name", "digits", "--"}, training(t, "say:ready", "await:"+b.file("go"), "say:went on")...)...)
	eventually(t, "the command is ready", func() bool { return strings.Contains(p.stdout.text(), "ready") })
	if _, err := keyboard.WriteString("\x1a"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the key was seen", func() bool { return strings.Contains(p.stdout.text(), "^Z") })
	if err := os.WriteFile(b.file("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := p.ended(); got.code != 0 || !strings.Contains(got.stdout, "went on") {
		t.Errorf("exit code %d, output %q", got.code, got.stdout)
	}
}

func TestTheCommandLearnsOfANewSize(t *testing.T) {
	b := newBench(t)
	script := `trap 'stty size <&1' WINCH; stty size <&1; while [ ! -e "$0" ]; do sleep 0.05; done`
	p, keyboard := b.onTerminal("run", "--name", "digits", "--", "sh", "-c", script, b.file("go"))
	eventually(t, "the first size is there", func() bool { return strings.Contains(p.stdout.text(), "23 80\r\n") })
	if err := pty.Setsize(keyboard, &pty.Winsize{Rows: 30, Cols: 100}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new size is there", func() bool { return strings.Contains(p.stdout.text(), "29 100\r\n") })
	if err := os.WriteFile(b.file("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.ended()
}

func TestPlainLinesOnATerminal(t *testing.T) {
	cases := map[string]struct {
		flags []string
		term  string
	}{
		"when asked for":                   {flags: []string{"--plain"}, term: "xterm"},
		"on a terminal that can do little": {term: "dumb"},
		"on a terminal of no kind":         {term: ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.term = tc.term
			args := append([]string{"run", "--name", "digits"}, tc.flags...)
			p, _ := b.onTerminal(append(append(args, "--"), training(t, atHalf, "terminal")...)...)
			if got := p.ended(); got.code != 0 || strings.Contains(got.stdout, "\x1b") || !strings.Contains(got.stdout, "milepost: progress 45%") {
				t.Errorf("exit code %d, output %q", got.code, got.stdout)
			}
		})
	}
}

func TestWatchPrintsWhatChanges(t *testing.T) {
	b := newBench(t)
	run := b.start(append([]string{"run", "--name", "digits", "--"}, training(t, atHalf, "touch:"+b.file("up"), "await:"+b.file("go"), atEnd)...)...)
	if err := awaitFile(b.file("up")); err != nil {
		t.Fatal(err)
	}
	watch := b.start("get", "digits", "--watch")
	eventually(t, "the watch shows the run", func() bool { return strings.Contains(watch.stdout.text(), "Running   45%") })
	if err := os.WriteFile(b.file("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run.wait()
	eventually(t, "the watch shows the end", func() bool { return strings.Contains(watch.stdout.text(), "Complete   100%") })
	if err := watch.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	got := watch.wait()
	if strings.Count(got.stdout, "NAME") != 1 || got.stderr != "" {
		t.Errorf("stdout %q, stderr %q; want one heading and no complaint", got.stdout, got.stderr)
	}
}
