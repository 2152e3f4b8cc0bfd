// SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/magefiles/internal/run"
)

func TestRunStreamsOutputAndEnvironment(t *testing.T) {
	var out bytes.Buffer
	cmd := run.Cmd{Dir: t.TempDir(), Env: []string{"GREETING=hello"}, Stdout: &out}
	if err := cmd.Run(t.Context(), "sh", "-c", "echo $GREETING from $(basename $PWD)"); err != nil {
		t.Fatalf("Run: %v", err)
	}
	if want := "hello from 001\n"; out.String() != want {
		t.Errorf("output = %q, want %q", out.String(), want)
	}
}

func TestErrorNamesTheCommand(t *testing.T) {
	cases := map[string]struct {
		name     string
		args     []string
		wantText string
		wantCode int
	}{
		"a command that fails keeps its exit code": {
			name: "sh", args: []string{"-c", "exit 7"},
			wantText: `running "sh -c 'exit 7'": exit status 7`, wantCode: 7,
		},
		"a command that does not exist counts as one": {
			name: "no-such-command-here", wantText: `running "no-such-command-here": `, wantCode: 1,
		},
		"a very long command line is cut": {
			name: "sh", args: []string{"-c", "exit 3", strings.Repeat("x", 500)},
			wantText: "xxx…\": exit status 3", wantCode: 3,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := run.Cmd{}.Run(t.Context(), tc.name, tc.args...)
			if err == nil || !strings.Contains(err.Error(), tc.wantText) {
				t.Errorf("error = %v, want it to contain %q", err, tc.wantText)
			}
			if got := run.ExitCode(err); got != tc.wantCode {
				t.Errorf("ExitCode = %d, want %d", got, tc.wantCode)
			}
		})
	}
}

func TestOutput(t *testing.T) {
	got, err := run.Cmd{}.Output(t.Context(), "sh", "-c", "echo one; echo two; echo quiet >&2")
	if err != nil || got != "one\ntwo" {
		t.Errorf("Output = %q, %v, want the two lines", got, err)
	}
	_, err = run.Cmd{}.Output(t.Context(), "sh", "-c", "echo the reason >&2; exit 1")
	if err == nil || !strings.Contains(err.Error(), "exit status 1: the reason") {
		t.Errorf("error = %v, want it to give the reason", err)
	}
}

func TestCancelInterruptsSoThatTheCommandCanCleanUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ready, out := newFirstWrite(), &bytes.Buffer{}
	cmd, err := run.Cmd{Stdout: ready, Stderr: out}.Start(ctx, "sh", "-c",
		`trap 'echo cleaned >&2; exit 0' INT; echo ready; while :; do sleep 0.05; done`)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	<-ready.seen
	cancel()
	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }()
	select {
	case err := <-waited:
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Errorf("Wait = %v, want the exit code of the command's own cleaning", exit)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the command did not stop")
	}
	if out.String() != "cleaned\n" {
		t.Errorf("standard error = %q, want the command to have cleaned up", out.String())
	}
}

// firstWrite closes seen when something is written for the first time.
type firstWrite struct {
	seen chan struct{}
	done bool
}

func newFirstWrite() *firstWrite { return &firstWrite{seen: make(chan struct{})} }

func (w *firstWrite) Write(p []byte) (int, error) {
	if !w.done {
		close(w.seen)
		w.done = true
	}
	return len(p), nil
}
