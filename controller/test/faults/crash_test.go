// SPDX-License-Identifier: Apache-2.0

//go:build unix

package faults

import (
	"fmt"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
)

// TestManagerKilled kills the manager again and again, as a node that runs out
// of memory does.
func TestManagerKilled(t *testing.T) {
	s := require(t)
	m := s.manager(t, s.plane.Config, livemanager.Options{})
	f := launch(t, plan{jobs: s.jobs, client: newClients(t, m), address: m.Address()})
	rate := f.flow(t)
	stopWatch := s.watchFinals(t, s.jobs)
	kills := scale(4, 60)
	unchecked := 0
	for range kills {
		during(t, 2*time.Second)
		mark := f.mark()
		if err := m.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := m.Launch(); err != nil {
			t.Fatal(err)
		}
		if err := m.AwaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		unchecked += len(failed(f.since(mark)))
		// The next report of a job stands in for one that was lost unwritten.
		before := ackedReports(s.jobs)
		eventually(t, patience, "reports of each job after the restart", func() error {
			for name, number := range ackedReports(s.jobs) {
				if number == before[name] {
					return fmt.Errorf("none of %s", name)
				}
			}
			return nil
		})
	}
	f.stop()
	reads := stopWatch()
	// The last acknowledged values wait for nobody now.
	took := s.wantStored(t, patience, ackedReports(s.jobs))
	if reads == 0 {
		t.Error("void: nothing was read while the manager was killed")
	}
	count := len(finals(accepted(f.since(0))))
	s.note(t, "%d kills under %.0f reports/s; %d finals acknowledged, %d reads in between, none lost; newest stored %s after the end; %d reports met a dead server",
		kills, rate, count, reads, took.Round(time.Millisecond), unchecked)
}
