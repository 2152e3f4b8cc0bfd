// SPDX-License-Identifier: Apache-2.0

package statuswriter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/milepost-dev/milepost/controller/internal/latest"
	"github.com/milepost-dev/milepost/controller/internal/report"
)

// memory is a target with injected faults. What it keeps is what an API server
// would keep: one value per job, with a version.
type memory struct {
	mu    sync.Mutex
	kept  map[report.JobKey]report.Kept
	calls []time.Time
	// room is the number of metrics that fit; 0 means any.
	room int
	// fault is asked before each call; nil means none.
	fault func(job report.JobKey) error
	delay time.Duration
}

func newMemory(jobs ...string) *memory {
	m := &memory{kept: map[report.JobKey]report.Kept{}}
	for _, job := range jobs {
		m.kept[key(job)] = report.Kept{JobUID: types.UID("uid-" + job), Version: "1"}
	}
	return m
}

func (m *memory) Load(_ context.Context, job report.JobKey) (report.Kept, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept, ok := m.kept[job]
	if !ok {
		return report.Kept{}, report.Refuse(report.ErrUnknownJob, "unknownJob", "Train job not found")
	}
	return kept, nil
}

func (m *memory) Store(ctx context.Context, job report.JobKey, kept report.Kept, rep report.Report) error {
	m.mu.Lock()
	m.calls = append(m.calls, time.Now())
	fault, delay := m.fault, m.delay
	m.mu.Unlock()
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return ctx.Err()
	}
	if m.room > 0 && len(rep.Metrics) > m.room {
		return fmt.Errorf("%w: %w", report.ErrTooLarge, report.Invalid{{Message: "too large"}})
	}
	if fault != nil {
		if err := fault(job); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.kept[job]
	if now.Version != kept.Version {
		return report.ErrConflict
	}
	m.kept[job] = report.Kept{JobUID: now.JobUID, Report: &rep, Version: now.Version + "1", WrittenTime: time.Now()}
	return nil
}

func (m *memory) progress(t *testing.T, job string) int32 {
	t.Helper()
	kept, err := m.Load(t.Context(), key(job))
	if err != nil || kept.Report == nil {
		return -1
	}
	return *kept.Report.ProgressPercentage
}

func (m *memory) setFault(f func(report.JobKey) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = f
}

func (m *memory) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.calls)
}

func key(job string) report.JobKey { return report.JobKey{Namespace: "ns", Name: job} }

func from(job string) report.Sender {
	return report.Sender{Job: key(job), JobUID: types.UID("uid-" + job), PodUID: "pod"}
}

func at(seconds int, progress int32) report.Report {
	return report.Report{ProgressPercentage: &progress, LastUpdatedTime: start.Add(time.Duration(seconds) * time.Second)}
}

// flow is a running writer with its store. stop ends it and waits.
type flow struct {
	store *latest.Store
	stop  func()
}

func run(t *testing.T, target Target, qps float64, burst int) *flow {
	t.Helper()
	budget, err := NewBudget(qps, burst, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	store, err := latest.New(latest.Config{}, budget, target)
	if err != nil {
		t.Fatal(err)
	}
	w, err := New(Config{}, budget, store, target)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Start(ctx) }()
	return &flow{store: store, stop: func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("writer ends with %v", err)
		}
	}}
}

func (f *flow) submit(t *testing.T, job string, rep report.Report) report.Outcome {
	t.Helper()
	outcome, err := f.store.Submit(t.Context(), from(job), rep)
	if err != nil {
		t.Fatalf("submitting for %s: %v", job, err)
	}
	return outcome
}

func TestQuietClusterGetsWriteThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("a")
		f := run(t, m, 50, 100)
		defer f.stop()
		if got := f.submit(t, "a", at(0, 10)); got != report.Stored {
			t.Errorf("outcome %v, want stored", got)
		}
		if got := m.progress(t, "a"); got != 10 {
			t.Errorf("stored progress %d, want 10", got)
		}
	})
}

func TestEqualReportIsNotWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("a")
		rep := at(0, 10)
		m.kept[key("a")] = report.Kept{JobUID: "uid-a", Report: &rep, Version: "1"}
		f := run(t, m, 50, 100)
		defer f.stop()
		if got := f.submit(t, "a", rep); got != report.Stored {
			t.Errorf("outcome %v, want stored", got)
		}
		if got := m.count(); got != 0 {
			t.Errorf("%d calls for a value that is there, want 0", got)
		}
	})
}

func TestBusyClusterCoalescesWithinTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const jobs, seconds, qps, burst = 100, 20, 10, 5
		names := make([]string, jobs)
		for i := range names {
			names[i] = fmt.Sprintf("job%d", i)
		}
		m := newMemory(names...)
		f := run(t, m, qps, burst)
		begun := time.Now()
		for s := range seconds {
			for _, name := range names {
				f.submit(t, name, at(s, int32(s)))
			}
			time.Sleep(time.Until(begun.Add(time.Duration(s+1) * time.Second)))
		}
		elapsed := time.Since(begun).Seconds()
		if got, most := m.count(), burst+int(qps*elapsed)+1; got > most {
			t.Errorf("%d calls in %.1f s, the budget allows %d", got, elapsed, most)
		}
		if got, least := m.count(), int(qps*elapsed*0.95); got < least {
			t.Errorf("%d calls in %.1f s, the budget allows for %d", got, elapsed, least)
		}
		time.Sleep(jobs / qps * time.Second)
		for _, name := range names {
			if got := m.progress(t, name); got != seconds-1 {
				t.Errorf("%s shows %d, want %d once everybody had a turn", name, got, seconds-1)
			}
		}
		f.stop()
	})
}

func TestFaultsOfTheTarget(t *testing.T) {
	boom := errors.New("the API server is away")
	cases := map[string]struct {
		fault func(calls int) error
		want  error
		// stored is the progress kept in the end.
		stored int32
	}{
		"a conflict is tried again at once": {
			fault:  func(n int) error { return map[bool]error{true: report.ErrConflict}[n <= 2] },
			stored: 100,
		},
		"a short outage is waited out": {
			fault:  func(n int) error { return map[bool]error{true: boom}[n <= 3] },
			stored: 100,
		},
		"a long outage refuses final reports": {
			fault: func(int) error { return boom }, want: report.ErrNotStored, stored: -1,
		},
		"a job that is gone is forgotten": {
			fault: func(int) error { return report.ErrUnknownJob }, want: report.ErrUnknownJob, stored: -1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory("a")
				m.setFault(func(report.JobKey) error { return tc.fault(m.count()) })
				f := run(t, m, 50, 100)
				_, err := f.store.Submit(t.Context(), from("a"), at(0, 100))
				if !errors.Is(err, tc.want) || (err != nil) != (tc.want != nil) {
					t.Errorf("error %v, want %v", err, tc.want)
				}
				if got := m.progress(t, "a"); got != tc.stored {
					t.Errorf("stored progress %d, want %d", got, tc.stored)
				}
				f.stop()
			})
		})
	}
}

func TestReportThatTheAPIRefusesIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("a")
		m.setFault(func(report.JobKey) error { return report.Invalid{{Message: "too long"}} })
		f := run(t, m, 50, 100)
		defer f.stop()
		_, err := f.store.Submit(t.Context(), from("a"), at(0, 100))
		if _, ok := errors.AsType[report.Invalid](err); !ok {
			t.Errorf("error %v, want report.Invalid", err)
		}
		time.Sleep(time.Minute)
		if got := m.count(); got != 1 {
			t.Errorf("%d calls, want 1", got)
		}
	})
}

func TestReportThatMakesTheJobTooLargeIsStoredWithoutItsMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("a")
		m.room = 1
		f := run(t, m, 50, 100)
		defer f.stop()
		large := at(0, 100)
		large.Metrics = []report.Metric{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}}
		outcome, err := f.store.Submit(t.Context(), from("a"), large)
		if err != nil || outcome != report.Trimmed {
			t.Errorf("outcome %v, %v, want trimmed", outcome, err)
		}
		newest, err := f.store.Newest(t.Context(), from("a"))
		if err != nil || newest == nil || len(newest.Metrics) > 0 || m.progress(t, "a") != 100 {
			t.Errorf("newest is %v (%v), want 100 %% without metrics", newest, err)
		}
		if n := m.count(); n != 2 {
			t.Errorf("%d calls, want one that fails and one that does not", n)
		}
		small := at(1, 100)
		small.Metrics = large.Metrics[:1]
		if outcome, err := f.store.Submit(t.Context(), from("a"), small); err != nil || outcome != report.Stored {
			t.Errorf("a report that fits again: %v, %v, want stored", outcome, err)
		}
	})
}

func TestNewestValuesAreWrittenSoonAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const jobs = 200
		var names []string
		for i := range jobs {
			names = append(names, fmt.Sprintf("job%d", i))
		}
		m := newMemory(names...)
		f := run(t, m, 50, 100)
		defer f.stop()
		m.setFault(func(report.JobKey) error { return errors.New("connection refused") })
		for s := range 12 {
			for _, name := range names {
				f.submit(t, name, at(s, int32(s)))
			}
			time.Sleep(5 * time.Second)
		}
		during := m.count()
		if during > 60 {
			t.Errorf("%d calls during a minute of outage, want a try every two seconds or so", during)
		}
		m.setFault(nil)
		time.Sleep(10 * time.Second)
		for _, name := range names {
			if got := m.progress(t, name); got != 11 {
				t.Errorf("%s shows %d ten seconds after the outage, want 11", name, got)
			}
		}
	})
}

func TestSlowAPIServerDoesNotCostTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for i := range 100 {
			names = append(names, fmt.Sprintf("job%d", i))
		}
		m := newMemory(names...)
		m.delay = 200 * time.Millisecond
		f := run(t, m, 50, 1)
		defer f.stop()
		for _, name := range names {
			f.submit(t, name, at(0, 1))
		}
		time.Sleep(2500 * time.Millisecond)
		for _, name := range names {
			if got := m.progress(t, name); got != 1 {
				t.Errorf("%s shows %d, want 1: 50 calls/s of 200 ms each need several at a time", name, got)
			}
		}
	})
}

func TestOneJobThatFailsDoesNotHoldOthersUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("bad", "good")
		m.setFault(func(job report.JobKey) error {
			if job.Name == "bad" {
				return errors.New("internal error")
			}
			return nil
		})
		f := run(t, m, 50, 100)
		defer f.stop()
		f.submit(t, "bad", at(0, 1))
		for s := range 30 {
			f.submit(t, "good", at(s, int32(s)))
			time.Sleep(time.Second)
			if got := m.progress(t, "good"); got != int32(s) {
				t.Fatalf("good shows %d a second after %d was sent", got, s)
			}
		}
	})
}

func TestEverythingAcceptedIsWrittenBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for i := range 1000 {
			names = append(names, fmt.Sprintf("job%d", i))
		}
		m := newMemory(names...)
		m.delay = 5 * time.Millisecond
		f := run(t, m, 10, 1)
		for _, name := range names {
			f.submit(t, name, at(0, 7))
		}
		begun := time.Now()
		f.stop()
		if took := time.Since(begun); took > defaultFlushTimeout {
			t.Errorf("the end took %v, want %v at most", took, defaultFlushTimeout)
		}
		for _, name := range names {
			if got := m.progress(t, name); got != 7 {
				t.Errorf("%s shows %d after the end, want 7", name, got)
			}
		}
	})
}

func TestEndIsBoundedWhileTheAPIServerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("a")
		m.delay = time.Hour // frozen: calls end with their own timeout
		f := run(t, m, 50, 100)
		f.submit(t, "a", at(0, 7))
		begun := time.Now()
		f.stop()
		if took, most := time.Since(begun), defaultFlushTimeout+defaultCallTimeout; took > most {
			t.Errorf("the end took %v, want %v at most", took, most)
		}
	})
}

func TestDecide(t *testing.T) {
	older, same, newer := at(5, 50), at(10, 60), at(15, 70)
	pending := report.Pending{Job: key("a"), JobUID: "uid-a", From: from("a"), Report: same}
	cases := map[string]struct {
		pending func(*report.Pending)
		kept    report.Kept
		err     error
		want    verdict
	}{
		"nothing is stored yet":        {kept: report.Kept{JobUID: "uid-a"}, want: verdictWrite},
		"an older report is stored":    {kept: report.Kept{JobUID: "uid-a", Report: &older}, want: verdictWrite},
		"the very report is stored":    {kept: report.Kept{JobUID: "uid-a", Report: &same}, want: verdictEqual},
		"a newer one of another stage": {kept: report.Kept{JobUID: "uid-a", Report: &newer}, want: verdictSuperseded},
		"a newer one that this process stored for another pod": {
			pending: func(p *report.Pending) { p.Written = &newer },
			kept:    report.Kept{JobUID: "uid-a", Report: &newer}, want: verdictWrite,
		},
		"a newer one that was stored before the pod was made": {
			pending: func(p *report.Pending) { p.From.PodCreated = start.Add(time.Hour) },
			kept:    report.Kept{JobUID: "uid-a", Report: &newer, WrittenTime: start}, want: verdictWrite,
		},
		"the job was made again under its name": {kept: report.Kept{JobUID: "uid-b"}, want: verdictGone},
		"the job is gone":                       {err: report.ErrUnknownJob, want: verdictGone},
		"the cache cannot be read":              {err: errors.New("not synced"), want: verdictUnreadable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := pending
			if tc.pending != nil {
				tc.pending(&p)
			}
			if got := decide(p, tc.kept, tc.err, start); got != tc.want {
				t.Errorf("verdict %v, want %v", got, tc.want)
			}
		})
	}
}
