// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestProcessLifecycle(t *testing.T) {
	dir := t.TempDir()
	marker := filepath.Join(dir, "ready")
	p, err := Start(t.Context(), Spec{
		Name:   "server",
		Path:   "/bin/sh",
		Args:   []string{"-c", `trap 'exit 0' TERM; : > "$MARKER"; while :; do sleep 0.01; done`},
		Env:    []string{"MARKER=" + marker},
		LogDir: dir,
	})
	if err != nil {
		t.Fatal(err)
	}
	exists := func(context.Context) error { _, err := os.Stat(marker); return err }
	if err := p.WaitReady(t.Context(), time.Minute, exists); err != nil {
		t.Fatal(err)
	}
	usage, err := p.Usage()
	if err != nil {
		t.Fatal(err)
	}
	if usage.Resident <= 0 || usage.PeakResident < usage.Resident {
		t.Errorf("Usage() = %+v, want memory in use and a peak that is no smaller", usage)
	}
	if err := p.Alive(); err != nil {
		t.Errorf("Alive() = %v before the stop", err)
	}
	if err := p.Stop(); err != nil {
		t.Errorf("Stop() = %v", err)
	}
	if err := p.Alive(); err == nil {
		t.Error("Alive() = nil after the stop")
	}
}

func TestWaitReadyQuotesTheLogOfAProgramThatEnded(t *testing.T) {
	p, err := Start(t.Context(), Spec{
		Name:   "broken",
		Path:   "/bin/sh",
		Args:   []string{"-c", "echo no such flag; exit 3"},
		LogDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	err = p.WaitReady(t.Context(), time.Minute, func(context.Context) error { return errors.New("not yet") })
	if err == nil || !strings.Contains(err.Error(), "no such flag") {
		t.Errorf("WaitReady() = %v, want an error that quotes the log", err)
	}
}
