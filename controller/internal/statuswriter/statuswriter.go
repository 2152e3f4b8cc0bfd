// SPDX-License-Identifier: Apache-2.0

// Package statuswriter stores reports at a bounded pace.
//
// It owns the pace, the decision whether a report still needs to be stored, and
// what happens when the API server does not take it. Target of the cluster is
// status.trainerStatus of the TrainJob, under the field owner trainer-status;
// nothing else writes that field, and this package writes nothing else. It does
// not own which report is the newest of its job or which job comes first: that
// is the Source (latest).
//
// One goroutine decides; a few others carry the calls out, so that the budget is
// used up even when the API server answers slowly. While the API server fails,
// only one call at a time tries whether it is back.
package statuswriter

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

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
	// Take hands out the next report. Exactly one of Settle, Retry, Reject and
	// Forget follows.
	Take() (report.Pending, bool)
	Settle(p report.Pending, outcome report.Outcome)
	Retry(p report.Pending, after time.Duration)
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
	// job is gone, report.ErrConflict when kept is no longer what is stored, a
	// report.Invalid when the report can never be stored, and anything else
	// when it is worth another try.
	Store(ctx context.Context, job report.JobKey, kept report.Kept, rep report.Report) error
}

// Observer hears what the writer does. Implementations must not block.
type Observer interface {
	// Written is called with the seconds that the call took and those since the
	// report's job had something to store.
	Written(callSeconds, waitedSeconds float64)
	// Skipped is called for a report that needs no write: equal or superseded.
	Skipped(reason string)
	// Failed is called for a call that stored nothing: conflict, gone, invalid,
	// or fault.
	Failed(reason string)
}

// Config of a Writer. Every field has a default.
type Config struct {
	// Workers is the largest number of calls at a time; default 16.
	Workers int
	// CallTimeout bounds one call; default 5 s.
	CallTimeout time.Duration
	// FlushTimeout bounds the writing at the end; default 15 s.
	FlushTimeout time.Duration
	// MaxHold is the longest pause after a fault; default 2 s.
	MaxHold time.Duration
	Logger  logr.Logger
	Clock   clock.Clock
	// Observer may be nil.
	Observer Observer
}

const (
	defaultWorkers      = 16
	defaultCallTimeout  = 5 * time.Second
	defaultFlushTimeout = 15 * time.Second
	defaultMaxHold      = 2 * time.Second
	firstHold           = 50 * time.Millisecond
	firstRetry          = 100 * time.Millisecond
	maxRetry            = 3 * time.Second
	// easyConflicts is how often a conflict is tried again at once.
	easyConflicts = 3
)

// Validate reports every field that makes no sense.
func (c Config) Validate() error {
	var errs []error
	if c.Workers < 0 {
		errs = append(errs, errors.New("Workers must not be negative"))
	}
	if c.CallTimeout < 0 || c.FlushTimeout < 0 || c.MaxHold < 0 {
		errs = append(errs, errors.New("timeouts must not be negative"))
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	if c.Workers == 0 {
		c.Workers = defaultWorkers
	}
	if c.CallTimeout == 0 {
		c.CallTimeout = defaultCallTimeout
	}
	if c.FlushTimeout == 0 {
		c.FlushTimeout = defaultFlushTimeout
	}
	if c.MaxHold == 0 {
		c.MaxHold = defaultMaxHold
	}
	if c.Logger.GetSink() == nil {
		c.Logger = logr.Discard()
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Observer == nil {
		c.Observer = silent{}
	}
	return c
}

type silent struct{}

func (silent) Written(float64, float64) {}
func (silent) Skipped(string)           {}
func (silent) Failed(string)            {}

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
	switch v := decide(p, kept, err); v {
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

// conclude acts on the result of a call.
func (w *Writer) conclude(p report.Pending, err error) {
	log := w.cfg.Logger.WithValues(logkeys.TrainJob, klog.KRef(p.Job.Namespace, p.Job.Name))
	var invalid report.Invalid
	switch {
	case err == nil:
		w.source.Settle(p, report.Stored)
		w.recovered()
	case errors.Is(err, report.ErrUnknownJob):
		w.cfg.Observer.Failed(verdictGone.String())
		w.source.Forget(p.JobUID)
		w.recovered()
	case errors.Is(err, report.ErrConflict):
		w.cfg.Observer.Failed("conflict")
		w.source.Retry(p, backoff(0, maxRetry, p.Attempts-easyConflicts))
		w.recovered()
	case errors.As(err, &invalid):
		w.cfg.Observer.Failed("invalid")
		log.Error(err, "report was refused by the API server")
		w.source.Reject(p, invalid)
		w.recovered()
	default:
		w.cfg.Observer.Failed("fault")
		w.source.Retry(p, backoff(firstRetry, maxRetry, p.Attempts))
		w.failed(log, err)
	}
}

// failed holds all calls back for a while, the longer the more of them fail.
func (w *Writer) failed(log logr.Logger, err error) {
	w.mu.Lock()
	hold := backoff(firstHold, w.cfg.MaxHold, w.faults)
	w.faults++
	first := w.faults == 1
	w.mu.Unlock()
	var refusal *report.Refusal
	if errors.As(err, &refusal) {
		hold = min(max(hold, refusal.RetryAfter), w.cfg.MaxHold)
	}
	w.budget.Hold(hold)
	if first {
		log.Error(err, "storing reports fails; trying again until it works")
	} else {
		log.V(1).Info("storing a report failed again", "error", err.Error())
	}
}

func (w *Writer) recovered() {
	w.mu.Lock()
	faults := w.faults
	w.faults = 0
	w.mu.Unlock()
	if faults == 0 {
		return
	}
	w.cfg.Logger.Info("storing reports works again", "failedCalls", faults)
	w.budget.Release()
	w.source.Hasten()
}

// backoff doubles a time with each attempt. A start of 0 waits only once the
// attempts are above 0.
func backoff(start, most time.Duration, attempts int) time.Duration {
	if start == 0 {
		if attempts <= 0 {
			return 0
		}
		start = firstRetry
	}
	return time.Duration(min(float64(start)*math.Pow(2, float64(max(attempts, 0))), float64(most)))
}
