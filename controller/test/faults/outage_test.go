// SPDX-License-Identifier: Apache-2.0

//go:build unix

package faults

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
)

const (
	metricWaiting = "milepost_reports_waiting_jobs"
	metricMemory  = "process_resident_memory_bytes"
	// storedWithin is how soon the newest values must be stored once the API
	// server is back. Short runs share their machine with others and get more.
	storedWithin = 10 * time.Second
)

// memoryLimit is what the manager may take whatever callers do. The race detector
// takes several times as much.
var memoryLimit = detected(256<<20, 1<<30)

// outageCase takes the API server away and brings it back.
type outageCase struct {
	away, back func(t *testing.T, s *site) error
	// length is that of a short run.
	length time.Duration
}

var outageCases = map[string]outageCase{
	"refused": {
		length: 14 * time.Second, // longer than a leader tries to keep its lease
		away:   func(_ *testing.T, s *site) error { return s.plane.Kill() },
		back:   func(t *testing.T, s *site) error { return s.plane.Restart(t.Context()) },
	},
	"frozen": {
		length: 6 * time.Second,
		away:   func(_ *testing.T, s *site) error { return s.plane.Freeze() },
		back:   func(_ *testing.T, s *site) error { return s.plane.Thaw() },
	},
}

// TestAPIServerAway takes the API server away under the leader, as in a cluster:
// a manager that loses its lease must go on taking reports.
func TestAPIServerAway(t *testing.T) {
	for name, tc := range outageCases {
		t.Run(name, func(t *testing.T) { testOutage(t, require(t), tc) })
	}
}

func testOutage(t *testing.T, s *site, tc outageCase) {
	m := s.manager(t, s.plane.Config, livemanager.Options{LeaderElect: true})
	f := launch(t, plan{jobs: s.jobs, client: newClients(t, m), address: m.Address()})
	rate := f.flow(t)
	length := scale(tc.length, time.Minute)
	if err := tc.away(t, s); err != nil {
		t.Fatal(err)
	}
	broughtBack := false
	defer func() {
		if !broughtBack {
			_ = tc.back(t, s) // the next case needs it
		}
	}()
	during(t, time.Second) // a write under way may still have ended well
	mark := f.mark()
	most := watchWaiting(t, m, length)
	gone := f.since(mark)
	if err := tc.back(t, s); err != nil {
		t.Fatal(err)
	}
	broughtBack = true
	stopWatch := s.watchFinals(t, s.jobs)
	took := s.wantStored(t, scale[time.Duration](3, 1)*storedWithin, ackedReports(s.jobs))
	checkOutage(t, gone)
	if most.jobs > jobCount {
		t.Errorf("%d jobs were waiting, of %d", most.jobs, jobCount)
	}
	if most.memory > memoryLimit {
		t.Errorf("the manager took %d MiB", most.memory>>20)
	}
	healed := f.mark()
	eventually(t, patience, "finals acknowledged again", func() error {
		if len(finals(accepted(f.since(healed)))) == 0 {
			return errNone
		}
		return nil
	})
	f.stop()
	stopWatch()
	s.wantStored(t, patience, ackedReports(s.jobs))
	s.note(t, "%s away under %.0f reports/s; %d reports taken meanwhile, %d finals answered 503, none acknowledged; at most %d jobs waiting, %d MiB; newest of %d jobs stored %s after it was back",
		length, rate, len(accepted(gone)), len(finals(gone)), most.jobs, most.memory>>20, jobCount, took.Round(time.Millisecond))
}

func checkOutage(t *testing.T, gone []sent) {
	t.Helper()
	if refused := failed(others(gone)); len(refused) > 0 {
		t.Errorf("%d of %d reports were refused while the API server was away: %s", len(refused), len(others(gone)), describe(refused))
	}
	if len(others(gone)) == 0 || len(finals(gone)) == 0 {
		t.Errorf("void: %d reports and %d finals were answered while the API server was away", len(others(gone)), len(finals(gone)))
	}
	for _, r := range finals(gone) {
		if r.code != http.StatusServiceUnavailable || !isSeconds(r.retryAfter) {
			t.Errorf("a final report was answered with %d, Retry-After %q (%v), want 503 and seconds", r.code, r.retryAfter, r.err)
		}
	}
}

func isSeconds(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n > 0
}

// load is what a manager holds.
type load struct{ jobs, memory int }

// watchWaiting reads the metrics of the manager for a while and returns the
// largest values.
func watchWaiting(t *testing.T, m *livemanager.Manager, d time.Duration) load {
	t.Helper()
	var most load
	for end := time.Now().Add(d); time.Now().Before(end); during(t, 5*poll) {
		now := measure(t, m)
		most = load{jobs: max(most.jobs, now.jobs), memory: max(most.memory, now.memory)}
	}
	return most
}

func measure(t *testing.T, m *livemanager.Manager) load {
	t.Helper()
	page, err := m.Metrics(t.Context())
	if err != nil {
		t.Fatalf("reading metrics: %v", err)
	}
	waiting, err := metric(page, metricWaiting)
	if err != nil {
		t.Fatal(err)
	}
	memory, err := metric(page, metricMemory)
	if err != nil {
		t.Fatal(err)
	}
	return load{jobs: int(waiting), memory: int(memory)}
}

// processorTime is what the manager has used so far.
func processorTime(t *testing.T, m *livemanager.Manager) time.Duration {
	t.Helper()
	page, err := m.Metrics(t.Context())
	if err != nil {
		t.Fatalf("reading metrics: %v", err)
	}
	seconds, err := metric(page, "process_cpu_seconds_total")
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(seconds * float64(time.Second))
}

// metric sums the values of a metric over its labels.
func metric(page, name string) (float64, error) {
	sum, found := 0.0, false
	for lines := bufio.NewScanner(strings.NewReader(page)); lines.Scan(); {
		key, text, _ := strings.Cut(lines.Text(), " ")
		if key != name && !strings.HasPrefix(key, name+"{") {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, fmt.Errorf("reading metric %s: %w", key, err)
		}
		sum, found = sum+value, true
	}
	if !found {
		return 0, fmt.Errorf("there is no metric %s", name)
	}
	return sum, nil
}
