// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// startMarked starts a real process that carries the mark of a cluster.
func startMarked(t *testing.T, l layout) *exec.Cmd {
	t.Helper()
	command := exec.Command("sleep", "600")
	command.Env = []string{"PATH=" + os.Getenv("PATH"), l.mark()}
	if err := command.Start(); err != nil {
		t.Skipf("no sleep program to start: %v", err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill() // already gone if the test passed
		_ = command.Wait()
	})
	return command
}

func TestProcessesAreFoundByTheirMark(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("no /proc here")
	}
	ours := layout{state: filepath.Join(t.TempDir(), "ours")}
	// The state of the second cluster starts like that of the first.
	others := layout{state: ours.state + "-others"}
	mine, foreign := startMarked(t, ours), startMarked(t, others)

	// The kernel shows the environment of a new process a moment after its start.
	var running map[string]int
	err := poll(t.Context(), time.Millisecond, func() (bool, error) {
		var err error
		running, err = ours.running()
		return len(running) > 0, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"sleep": mine.Process.Pid}, running); diff != "" {
		t.Errorf("processes (-want +got):\n%s", diff)
	}

	for name, l := range map[string]layout{"the first": ours, "the second": others} {
		if other, err := l.othersRun(); err != nil || !other {
			t.Errorf("want %s cluster to see the other, got %t and %v", name, other, err)
		}
	}

	reaped := make(chan struct{})
	go func() {
		defer close(reaped)
		_ = mine.Wait() // killed, so always an error
	}()
	if err := killUntilNone(t.Context(), "processes", ours.markedIDs()); err != nil {
		t.Fatal(err)
	}
	<-reaped
	running, err = others.running()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"sleep": foreign.Process.Pid}, running); diff != "" {
		t.Errorf("processes of the other cluster (-want +got):\n%s", diff)
	}
}

func TestAnyVariable(t *testing.T) {
	cases := map[string]struct {
		environment string
		want        bool
	}{
		"the mark among others":                    {environment: "A=1\x00MARK=/x\x00B=2\x00", want: true},
		"the mark without an end":                  {environment: "MARK=/x", want: true},
		"a longer value is another cluster's mark": {environment: "MARK=/x-two\x00"},
		"a longer name is another variable":        {environment: "OLD_MARK=/x\x00"},
		"an empty environment":                     {},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := anyVariable([]byte(tc.environment), func(variable string) bool { return variable == "MARK=/x" })
			if got != tc.want {
				t.Errorf("want %t, got %t", tc.want, got)
			}
		})
	}
}
