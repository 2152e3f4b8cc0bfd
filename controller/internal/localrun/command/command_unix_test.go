// SPDX-License-Identifier: Apache-2.0

//go:build unix

package command

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// shell returns options that run a script without input.
func shell(t *testing.T, script string) Options {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = null.Close() })
	return Options{Argv: []string{"/bin/sh", "-c", script}, Env: os.Environ(), Stdin: null, Stdout: null, Stderr: null}
}

// run runs a command to its end.
func run(t *testing.T, options Options) Exit {
	t.Helper()
	c, err := Start(options)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	exit, err := c.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return exit
}

func TestExitCodesAreThoseOfAShell(t *testing.T) {
	cases := map[string]struct {
		script string
		want   Exit
	}{
		"success":              {script: "exit 0", want: Exit{}},
		"a code of its own":    {script: "exit 3", want: Exit{Code: 3}},
		"the largest code":     {script: "exit 255", want: Exit{Code: 255}},
		"ended by a signal":    {script: "kill -TERM $$", want: Exit{Code: 143, Signal: "SIGTERM"}},
		"killed without mercy": {script: "kill -KILL $$", want: Exit{Code: 137, Signal: "SIGKILL"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := run(t, shell(t, tc.script)); got != tc.want {
				t.Errorf("exit = %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestCommandsThatDoNotStart(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cases := map[string]struct {
		name     string
		wantCode int
		wantText string
	}{
		"a name that is nowhere":          {name: "no-such-command", wantCode: 127, wantText: "no-such-command: command not found"},
		"a path that is nowhere":          {name: filepath.Join(dir, "absent"), wantCode: 127, wantText: "no such file"},
		"a file without the right to run": {name: write("data", "x", 0o600), wantCode: 126, wantText: "no permission"},
		"a folder":                        {name: dir, wantCode: 126, wantText: "folder"},
		"a script without a first line":   {name: write("script", "exit 0\n", 0o700), wantCode: 126, wantText: "#!/bin/sh"},
		"a script whose shell is missing": {name: write("lost", "#!/no/such/shell\n", 0o700), wantCode: 126, wantText: "interpreter"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			options := shell(t, "")
			options.Argv = []string{tc.name}
			_, err := Start(options)
			var failed *StartError
			if !errors.As(err, &failed) {
				t.Fatalf("Start gave %v, want a StartError", err)
			}
			if failed.Code != tc.wantCode || !strings.Contains(err.Error(), tc.wantText) || strings.Contains(err.Error(), "\n") {
				t.Errorf("code %d, %q; want %d and one line with %q", failed.Code, err, tc.wantCode, tc.wantText)
			}
		})
	}
}

// Signals that are sent to this process reach the command and what it started, each once.
func TestSignalsArePassedOn(t *testing.T) {
	signals := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "USR1": syscall.SIGUSR1}
	for name, number := range signals {
		t.Run(name, func(t *testing.T) {
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = read.Close() }()
			// A signal that this process was started to ignore, as HUP under nohup, is rightly not passed on.
			wanted := make(chan os.Signal, 1)
			signal.Notify(wanted, number)
			defer signal.Stop(wanted)
			options := shell(t, `
				trap 'echo child' `+name+`
				sh -c 'trap "echo grandchild; exit 0" `+name+`; echo ready; while :; do sleep 0.05; done'
				exit 9`)
			options.Stdout = write
			c, err := Start(options)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_ = write.Close()
			lines := bufio.NewScanner(read)
			if !lines.Scan() || lines.Text() != "ready" {
				t.Fatalf("first line = %q", lines.Text())
			}
			if err := syscall.Kill(os.Getpid(), number); err != nil {
				t.Fatal(err)
			}
			exit, err := c.Wait()
			if err != nil || exit.Code != 9 {
				t.Fatalf("exit = %+v, %v", exit, err)
			}
			var said []string
			for lines.Scan() {
				said = append(said, lines.Text())
			}
			if got := strings.Join(said, " "); strings.Count(got, "grandchild") != 1 || strings.Count(got, "child") != 2 {
				t.Errorf("answers = %q, want one of each", got)
			}
		})
	}
}

// buffer collects what several goroutines write.
type buffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// withTerminal gives a command a real terminal for its output and collects what comes out of it.
func withTerminal(t *testing.T, options Options) (Options, *buffer) {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo terminal on this machine: %v", err)
	}
	t.Cleanup(func() { _ = master.Close(); _ = slave.Close() })
	collected := &buffer{}
	options.Stdout, options.Stderr = slave, slave
	options.Output = collected
	options.Size = func() (int, int) { return 23, 70 }
	return options, collected
}

func TestOutputStillIsATerminal(t *testing.T) {
	options, got := withTerminal(t, shell(t, `
		test -t 1 && test -t 2 && stty size <&1
		printf 'bar\r 50%%\n' >&2`))
	if exit := run(t, options); exit.Code != 0 {
		t.Fatalf("exit = %+v", exit)
	}
	if want := "23 70\nbar\r 50%\n"; got.String() != want {
		t.Errorf("output = %q, want %q", got.String(), want)
	}
}

func TestOnlyTerminalsAreReplaced(t *testing.T) {
	options, got := withTerminal(t, shell(t, `test ! -t 1; echo "result $?"; echo note >&2`))
	path := filepath.Join(t.TempDir(), "result")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	options.Stdout = file
	run(t, options)
	_ = file.Close()
	if text, err := os.ReadFile(path); err != nil || string(text) != "result 0\n" {
		t.Errorf("file = %q, %v", text, err)
	}
	if got.String() != "note\n" {
		t.Errorf("output = %q, want what went to the terminal alone", got.String())
	}
}

func TestAllOutputArrivesBeforeTheEnd(t *testing.T) {
	options, got := withTerminal(t, shell(t, `i=0; while [ $i -lt 5000 ]; do echo "line $i of many"; i=$((i+1)); done`))
	run(t, options)
	if lines := strings.Count(got.String(), "\n"); lines != 5000 {
		t.Errorf("%d lines, want 5000", lines)
	}
}

func TestAProcessLeftBehindHoldsNothingUp(t *testing.T) {
	options, got := withTerminal(t, shell(t, `sleep 60 & echo "$!"`))
	c, err := Start(options)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	exit, err := c.Wait()
	t.Cleanup(func() { _ = syscall.Kill(-c.group, syscall.SIGKILL) })
	if err != nil || exit.Code != 0 {
		t.Errorf("exit = %+v, %v", exit, err)
	}
	if !strings.HasSuffix(got.String(), "\n") {
		t.Errorf("output = %q", got.String())
	}
}
