// SPDX-License-Identifier: Apache-2.0

//go:build linux

package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/e2e/bench/process"
)

// planVariable turns this test program into the one that is confined.
const planVariable = "CONFINE_TEST_PLAN"

func TestMain(m *testing.M) {
	if path := os.Getenv(planVariable); path != "" {
		fmt.Fprintln(os.Stderr, "confine:", Exec(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestExecShowsFilesToTheProgramAlone(t *testing.T) {
	dir := t.TempDir()
	plan := &Plan{
		Program: "/bin/sh",
		Args:    []string{"-c", `cat /run/confine-test/token; echo; ls /tmp; echo "$WORD"`},
		Env:     []string{"WORD=given"},
		Folders: []string{"/run", "/tmp"},
		Files: []File{
			{Path: "/run/confine-test/token", Content: []byte("secret")},
			{Path: "/tmp/only", Content: []byte("this")},
		},
	}
	path := filepath.Join(dir, "plan.json")
	if err := plan.Write(path); err != nil {
		t.Fatal(err)
	}
	p, err := process.Start(t.Context(), process.Spec{
		Name: "confined", Path: os.Args[0], Env: []string{planVariable + "=" + path}, LogDir: dir, OwnMounts: true,
	})
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
		t.Skipf("user namespaces are not allowed here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Exited():
	case <-time.After(time.Minute):
		t.Fatalf("the program still runs after a minute: %v", p.Stop())
	}
	log, err := os.ReadFile(filepath.Join(dir, "confined.log"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(log), "secret\nonly\ngiven\n"; got != want {
		t.Errorf("the program printed %q, want %q", got, want)
	}
	if _, err := os.Stat("/run/confine-test"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file reached this process: %v", err)
	}
}

func TestExecNamesWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	plan := &Plan{Program: filepath.Join(dir, "absent")}
	path := filepath.Join(dir, "plan.json")
	if err := plan.Write(path); err != nil {
		t.Fatal(err)
	}
	for what, tc := range map[string]struct{ path, want string }{
		"program": {path, "opening the program"},
		"plan":    {path + "x", "reading the plan"},
	} {
		if err := Exec(tc.path); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("without a %s: Exec() = %v, want %q", what, err, tc.want)
		}
	}
}
