// SPDX-License-Identifier: Apache-2.0

// Package statuswriter stores reports at a bounded pace.
//
// It owns the pace, the decision whether a report still needs to be stored, and
// what happens when the API server does not take it. Target of the cluster is
// status.trainerStatus of the TrainJob with the fraction of its second beside it,
// under the field owner trainer-status; nothing else writes these fields, and this
// package writes nothing else. It does
// not own which report is the newest of its job or which job comes first: that
// is the Source (latest).
//
// One goroutine decides; a few others carry the calls out, so that the budget is
// used up even when the API server answers slowly. While the API server fails,
// only one call at a time tries whether it is back.
package statuswriter

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/milepost-dev/milepost/controller/internal/logkeys"
	"github.com/milepost-dev/milepost/controller/internal/report"
)

// Source hands out what is to be stored, most urgent first.
type Source interface {
	// Wake is signalled when something new waits.
	Wake() <-chan struct{}
	// Due is 0 when something waits, else the time until something does;
	// negative when there is nothing.
	Due() time.Duration
	// Take hands out the next report. Exactly one of Settle, Retry, Trim, Reject
	// and Forget follows.
	Take() (report.Pending, bool)
	Settle(p report.Pending, outcome report.Outcome)
	Retry(p report.Pending, after time.Duration)
	// Trim gives a report back to be stored without its metrics.
	Trim(p report.Pending)
	Reject(p report.Pending, err error)
	Forget(jobUID types.UID)
	// Hasten makes all that waits to be tried again due at once.
	Hasten()
	// Len counts the jobs with something not stored, reports taken included.
	Len() int
}

// Target is where reports are kept.
type Target interface {
	// Load returns what is stored; report.ErrUnknownJob when there is no such
	// job.
	Load(ctx context.Context, job report.JobKey) (report.Kept, error)
	// Store replaces what is kept. The error is report.ErrUnknownJob when the
	// job is gone, report.ErrConflict when kept is no longer what is stored,
	// report.ErrTooLarge when the job would be too large with it, a
	// report.Invalid when the report can never be stored, and anything else
	// when it is worth another try.
	Store(ctx context.Context, job report.JobKey, kept report.Kept, rep report.Report) error
}

// Writer is a Runnable that runs on every replica.
type Writer struct {
	cfg    Config
	budget *Budget
	source Source
	target Target

	// freed is signalled when a call ends.
	freed chan struct{}
	calls sync.WaitGroup

	mu     sync.Mutex
	busy   int
	faults int
}

// New returns a Writer that spends the budget on moving reports from source to
// target.
func New(cfg Config, budget *Budget, source Source, target Target) (*Writer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Writer{
		cfg: cfg.withDefaults(), budget: budget, source: source, target: target,
		freed: make(chan struct{}, 1),
	}, nil
}

// NeedLeaderElection is false: every replica stores what it accepted.
func (w *Writer) NeedLeaderElection() bool { return false }

// Start writes until the context ends, then writes what is left and returns nil
// after FlushTimeout and CallTimeout at the latest. The door must be closed by
// then, or what it still lets in is not waited for.
func (w *Writer) Start(ctx context.Context) error {
	base := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		w.step(base, ctx.Done(), w.source.Wake())
	}
	w.flush(base)
	return nil
}

// flush writes what is left. The pace rises so far that all of it can go out in
// time: a process that ends has no later.
func (w *Writer) flush(ctx context.Context) {
	end := w.cfg.Clock.Now().Add(w.cfg.FlushTimeout)
	deadline := w.cfg.Clock.NewTimer(w.cfg.FlushTimeout)
	defer deadline.Stop()
	stop := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-deadline.C():
		case <-stop:
		}
	}()
	w.budget.Raise(w.source.Len(), w.cfg.FlushTimeout/2)
	w.source.Hasten()
	for w.source.Len() > 0 && w.cfg.Clock.Now().Before(end) {
		w.step(ctx, stopped, w.freed)
	}
	close(stop)
	<-stopped
	w.calls.Wait()
	if left := w.source.Len(); left > 0 {
		w.cfg.Logger.Error(nil, "reports are lost because they could not be stored before the end", "jobs", left)
	}
}

// step writes one report or waits for whatever comes first: a report, its turn,
// room for one more call, or the end.
func (w *Writer) step(ctx context.Context, stop, wake <-chan struct{}) {
	if due := w.source.Due(); due != 0 {
		w.sleep(due, stop, wake)
		return
	}
	if !w.occupy() {
		w.sleep(-1, stop, w.freed)
		return
	}
	if wait := w.budget.Spend(); wait > 0 {
		w.vacate()
		w.sleep(wait, stop, nil)
		return
	}
	if !w.next(ctx) {
		w.budget.Refund()
		w.vacate()
	}
}

// sleep waits for a time, or without end when it is negative.
func (w *Writer) sleep(d time.Duration, stop, wake <-chan struct{}) {
	var elapsed <-chan time.Time
	if d >= 0 {
		timer := w.cfg.Clock.NewTimer(d)
		defer timer.Stop()
		elapsed = timer.C()
	}
	select {
	case <-elapsed:
	case <-wake:
	case <-stop:
	}
}

// occupy takes a place for a call. While the API server fails there is one.
func (w *Writer) occupy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	limit := w.cfg.Workers
	if w.faults > 0 {
		limit = 1
	}
	if w.busy >= limit {
		return false
	}
	w.busy++
	return true
}

func (w *Writer) vacate() {
	w.mu.Lock()
	w.busy--
	w.mu.Unlock()
	select {
	case w.freed <- struct{}{}:
	default:
	}
}

// next takes the next report and, when it needs a write, starts the call. It
// returns false when there is no call.
func (w *Writer) next(ctx context.Context) bool {
	p, ok := w.source.Take()
	if !ok {
		return false
	}
	kept, err := w.target.Load(ctx, p.Job)
	switch v := decide(p, kept, err, w.cfg.Clock.Now()); v {
	case verdictGone:
		w.cfg.Observer.Failed(v.String())
		w.source.Forget(p.JobUID)
	case verdictEqual:
		w.cfg.Observer.Skipped(v.String())
		w.source.Settle(p, report.Stored)
	case verdictSuperseded:
		w.cfg.Observer.Skipped(v.String())
		w.source.Settle(p, report.Superseded)
	case verdictUnreadable:
		w.cfg.Logger.V(1).Info("stored report cannot be read", logkeys.TrainJob, klog.KRef(p.Job.Namespace, p.Job.Name), "error", err.Error())
		w.source.Retry(p, backoff(firstRetry, maxRetry, p.Attempts))
	case verdictWrite:
		w.calls.Go(func() { w.call(ctx, p, kept) })
		return true
	}
	return false
}

func (w *Writer) call(ctx context.Context, p report.Pending, kept report.Kept) {
	defer w.vacate()
	ctx, cancel := context.WithTimeout(ctx, w.cfg.CallTimeout)
	defer cancel()
	begun := w.cfg.Clock.Now()
	err := w.target.Store(ctx, p.Job, kept, p.Report)
	now := w.cfg.Clock.Now()
	if err == nil {
		w.cfg.Observer.Written(now.Sub(begun).Seconds(), now.Sub(p.Since).Seconds())
	}
	w.conclude(p, err)
}
