// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/e2e/bench/result"
)

// smokeVariable asks for a benchmark in small, which takes some minutes and builds programs of
// Kubernetes where they are not cached.
const smokeVariable = "MILEPOST_BENCH_SMOKE"

// TestMain lets this test program be what "bench status" starts: its own generator, echo server and
// wrapper.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{"load", "echo", "confine"}, os.Args[1]) {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestQuickRunMeasuresEveryServer(t *testing.T) {
	if os.Getenv(smokeVariable) == "" {
		t.Skipf("set %s=1 to measure in small", smokeVariable)
	}
	dir := t.TempDir()
	o := &statusOptions{
		servers:   []string{"echo", "milepost", "upstream-lifted"},
		scenarios: []string{"full-speed", "steady"}, quick: true, dir: dir,
		json: filepath.Join(dir, "result.json"), out: filepath.Join(dir, "result.md"),
	}
	var out, progress bytes.Buffer
	if err := runStatus(t.Context(), o, &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	content, err := os.ReadFile(o.json)
	if err != nil {
		t.Fatal(err)
	}
	report := &result.Report{}
	if err := json.Unmarshal(content, report); err != nil {
		t.Fatal(err)
	}
	if len(report.Skipped) != 0 || len(report.Verdicts) != 2 {
		t.Errorf("skipped %q, %d verdicts, want nothing skipped and 2", report.Skipped, len(report.Verdicts))
	}
	for _, m := range report.Measures {
		g := m.Load.Group("jobs")
		if g.Accepted == 0 {
			t.Errorf("%s of %s accepted nothing: %v %v", m.Scenario, m.Server, g.Codes, g.Errors)
		}
		if m.Server != result.Echo && (m.Staleness.All.Never > 0 || m.Writes.Status == 0) {
			t.Errorf("%s of %s: %d values never stored, %.0f status writes", m.Scenario, m.Server, m.Staleness.All.Never, m.Writes.Status)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "milepost-bench-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind %v, %v", left, err)
	}
}

func TestOptionsThatCannotBeAreRefusedBeforeAnythingStarts(t *testing.T) {
	tests := map[string]struct {
		options statusOptions
		want    string
	}{
		"an unknown scenario": {options: statusOptions{scenarios: []string{"foo"}}, want: `unknown scenario "foo", known are full-speed`},
		"an unknown server":   {options: statusOptions{servers: []string{"nginx"}}, want: `unknown server "nginx"`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			tc.options.dir = t.TempDir()
			var out, progress bytes.Buffer
			err := runStatus(ctx, &tc.options, &out, &progress)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("runStatus() = %v, want %q", err, tc.want)
			}
			left, err := os.ReadDir(tc.options.dir)
			if err != nil || len(left) != 0 {
				t.Errorf("left behind %v, %v", left, err)
			}
		})
	}
}

func TestSize(t *testing.T) {
	o := &statusOptions{quick: true, jobs: 7, duration: time.Minute}
	if got := o.size(); got.Jobs != 7 || got.Duration != time.Minute || got.KnownJobs >= 10_000 {
		t.Errorf("size() = %+v, want the quick one with 7 jobs and runs of a minute", got)
	}
}

func TestHelpNamesEveryScenario(t *testing.T) {
	help := newStatusCommand().Long
	for _, name := range []string{"full-speed", "offered", "new-connections", "steady", "crowd", "flood", "many-jobs", "memory"} {
		if !strings.Contains(help, name) {
			t.Errorf("the help does not name %s", name)
		}
	}
}
