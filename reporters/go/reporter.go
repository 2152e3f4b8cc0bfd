// SPDX-License-Identifier: Apache-2.0

package milepost

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/milepost-dev/milepost/reporters/go/internal/hooks"
	"github.com/milepost-dev/milepost/reporters/go/internal/wire"
)

// Reporter reports for this process. Its methods may be called from several goroutines, and on a
// nil Reporter, where they do nothing.
type Reporter struct {
	active bool
	log    logger
	hooks  hooks.Hooks
	clock  func() time.Duration // of the rate
	sender *sender              // nil when not active

	mu      sync.Mutex
	rate    rate
	metrics metricList // of the last report, for complete
	keep    []string   // of the last report
	last    int32      // progress of the last report, 0 when it had none
	ended   bool
	ignored bool // whether a report after the end was logged
}

// Start makes a reporter from the environment. Outside a TrainJob, and on other ranks than 0, it
// does nothing, and one log line says why. D1, D2.
func Start(options ...Option) *Reporter {
	s := newSettings(options)
	r := &Reporter{log: s.logger, hooks: s.hooks, clock: s.hooks.RateClock}
	if r.clock == nil {
		begin := time.Now()
		r.clock = func() time.Duration { return time.Since(begin) }
	}
	env, problems := readEnvironment(s.get)
	if problems != "" {
		r.log.log(slog.LevelInfo, "nothing is reported outside a TrainJob", "because", problems)
		return r
	}
	if other := otherRank(s.get, s.rank); other != "" {
		r.log.log(slog.LevelInfo, "nothing is reported by this rank", "because", other)
		return r
	}
	r.active = true
	r.sender = newSender(env, s)
	live.add(r.sender, s)
	return r
}

// Active tells whether this reporter sends anything.
func (r *Reporter) Active() bool { return r != nil && r.active }

// Report stores what the training has to say and returns at once. A worker sends the newest report
// in the background: the first at once, later ones every 5 seconds. A report replaces the one
// before; what it leaves out becomes unknown.
func (r *Reporter) Report(parts ...Part) {
	if !r.Active() {
		return
	}
	c := collect(parts)
	r.explain(c.metrics.unfit)
	r.mu.Lock()
	if r.ended {
		first := !r.ignored
		r.ignored = true
		r.mu.Unlock()
		if first {
			r.log.log(slog.LevelWarn, "reports after the end of reporting are ignored")
		}
		return
	}
	defer r.mu.Unlock()
	status := wire.TrainerStatus{Metrics: c.metrics.items}
	status.ProgressPercentage, status.EstimatedRemainingSeconds = r.numbers(c)
	urgent := isComplete(status.ProgressPercentage) && r.last < complete
	r.last = 0
	if status.ProgressPercentage != nil {
		r.last = *status.ProgressPercentage
	}
	r.metrics, r.keep = c.metrics, c.keep
	r.store(status, urgent)
}

// numbers works out progress and time remaining. D4, D5, D6.
func (r *Reporter) numbers(c call) (progress, remaining *int32) {
	if c.step != nil {
		r.rate.add(r.clock(), *c.step)
		if *c.total > 0 {
			computed := computedProgress(*c.step, *c.total)
			progress, remaining = &computed, r.rate.remaining(*c.step, *c.total)
		}
	}
	if c.percent != nil {
		if progress = explicitProgress(*c.percent); isComplete(progress) {
			remaining = seconds(0)
		}
	}
	if c.remaining != nil {
		remaining = seconds(c.remaining.Seconds())
	}
	return progress, remaining
}

func isComplete(progress *int32) bool { return progress != nil && *progress == complete }

// Complete reports that the training is complete: progress 100 and no time remaining. It waits at
// most 5 seconds for the report to arrive. Without metrics those of the last report are sent again.
// Later reports are ignored. D22.
func (r *Reporter) Complete(parts ...Part) {
	if !r.Active() {
		return
	}
	c := collect(parts)
	r.explain(c.metrics.unfit)
	r.mu.Lock()
	if !r.ended {
		r.ended = true
		if len(c.metrics.items) > 0 {
			r.metrics, r.keep = c.metrics, c.keep
		}
		progress := int32(complete)
		r.store(wire.TrainerStatus{
			ProgressPercentage:        &progress,
			EstimatedRemainingSeconds: seconds(0),
			Metrics:                   r.metrics.items,
		}, true)
	}
	r.mu.Unlock()
	r.close()
}

// Fail ends reporting without completion: the last report is sent as it is, and the reason goes to
// the log. It waits at most 5 seconds. D23.
func (r *Reporter) Fail(reason error) {
	if !r.Active() {
		return
	}
	if r.end() && reason != nil {
		r.log.log(slog.LevelError, "the training failed", "reason", cut(describe(reason), maxMessage))
	}
	r.close()
}

// Close ends reporting and waits at most 5 seconds for the last report to arrive. It does not make
// the training complete: only [Reporter.Complete] does. Use it with defer; it does nothing after
// Complete or Fail. D22.
func (r *Reporter) Close() {
	if r.Active() {
		r.end()
		r.close()
	}
}

// close sends what is left and gives up what the reporter holds.
func (r *Reporter) close() {
	r.sender.close()
	live.remove(r.sender)
}

// end is true for the first of the calls that end reporting.
func (r *Reporter) end() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.ended
	r.ended = true
	return first
}

// store puts a report into the slot of the sender.
func (r *Reporter) store(status wire.TrainerStatus, urgent bool) {
	now := timestamp()
	status.LastUpdatedTime = &now
	r.sender.put(&report{status: status, keep: r.keep, urgent: urgent})
}

// explain says once per name that a metric was left out. D7.
func (r *Reporter) explain(unfit []string) {
	for _, name := range unfit {
		if name = cut(name, wire.MetricNameMaxLength); said.metrics.first(name) {
			r.log.log(slog.LevelWarn, "a metric is left out: name and value have 1 to 64 characters, and the value is a number, a boolean or text",
				"metric", name)
		}
	}
}

// describe is the text of an error whose Error method may panic.
func describe(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = "unknown"
		}
	}()
	return err.Error()
}

// lastStamp is the last time that was given to a report, in microseconds.
var lastStamp atomic.Int64

// timestamp is now, or a microsecond after the last report if the clock stands or was set back: the
// server takes an older time for an older report. D19.
func timestamp() string {
	for {
		before := lastStamp.Load()
		now := stampAfter(before, time.Now().UnixMicro())
		if lastStamp.CompareAndSwap(before, now) {
			return formatStamp(now)
		}
	}
}

func stampAfter(before, now int64) int64 { return max(now, before+1) }

func formatStamp(micros int64) string {
	return time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05.000000Z")
}
