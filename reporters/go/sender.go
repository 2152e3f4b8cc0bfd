// SPDX-License-Identifier: Apache-2.0

package milepost

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/milepost-dev/milepost/reporters/go/internal/hooks"
	"github.com/milepost-dev/milepost/reporters/go/internal/wire"
)

const (
	attemptLimit = 5 * time.Second // D18
	flushLimit   = 5 * time.Second // D22
	flushPause   = 500 * time.Millisecond
	staleLimit   = 2 * time.Second // for an attempt under way when a flush begins
	troubleEvery = time.Minute     // D21
)

// report is what waits in the slot.
type report struct {
	status wire.TrainerStatus
	keep   []string
	urgent bool // skips the interval
}

// sender owns the slot and the worker that empties it. D11.
type sender struct {
	log       logger
	hooks     hooks.Hooks
	endpoint  string
	transport *transport // used by the worker alone
	trouble   trouble    // used by the worker alone
	closing   sync.Once

	mu         sync.Mutex
	slot       *report // newest unsent, nil when everything is sent or dropped
	pacing     pacing
	flushDue   time.Time          // when the next attempt of a flush begins
	flushUntil time.Time          // end of the flush; pacing counts afterwards
	current    *report            // being sent
	abandon    context.CancelFunc // ends the attempt for current
	running    bool               // whether the worker was started
	closed     bool
	changed    chan struct{} // closed and replaced whenever anything above changes
}

func newSender(env environment, s settings) *sender {
	return &sender{
		log:       s.logger,
		hooks:     s.hooks,
		endpoint:  env.url,
		transport: newTransport(env),
		trouble:   trouble{every: s.hooks.Time(troubleEvery)},
		pacing:    pacing{interval: s.hooks.Time(s.interval), scale: s.hooks.Time},
		changed:   make(chan struct{}),
	}
}

// notify wakes everyone who waits for a change. The caller holds mu.
func (s *sender) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// put replaces the report in the slot, and starts the worker with the first.
func (s *sender) put(r *report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slot = r
	if !s.running {
		s.running = true
		go s.work()
	}
	s.notify()
}

// close flushes and ends the worker. Who calls it while it works waits for it.
func (s *sender) close() {
	s.closing.Do(func() {
		s.flush()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closed = true
		if s.abandon != nil {
			s.abandon()
		}
		s.notify()
	})
}

// flush waits until the slot is empty, at most 5 seconds. D22.
func (s *sender) flush() {
	limit := s.hooks.Limit(flushLimit)
	end := time.NewTimer(limit)
	defer end.Stop()
	s.mu.Lock()
	if s.slot != nil && !s.closed {
		s.flushDue = time.Now()
		s.flushUntil = s.flushDue.Add(limit)
		s.dropStale()
		s.notify()
	}
	for s.slot != nil && !s.closed {
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-end.C:
			s.log.log(slog.LevelWarn, "the last report was not sent in time", "endpoint", s.endpoint)
			return
		}
		s.mu.Lock()
	}
	s.mu.Unlock()
}

// dropStale ends an attempt with an older report if it goes on for too long: the connection may be
// dead, and the newest report must still have its chance. The caller holds mu.
func (s *sender) dropStale() {
	stale, abandon := s.current, s.abandon
	if stale == nil || stale == s.slot {
		return
	}
	time.AfterFunc(s.hooks.Limit(staleLimit), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.current == stale {
			abandon()
		}
	})
}

// work sends what is in the slot until the sender is closed.
func (s *sender) work() {
	defer s.transport.close()
	for {
		next, ctx, cancel := s.next()
		if next == nil {
			return
		}
		start := time.Now()
		got, err := s.send(ctx, next)
		cancel()
		s.settle(next, start, got, err)
	}
}

// next waits until a report is due. It returns nil when the sender is closed.
func (s *sender) next() (*report, context.Context, context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.closed {
		wait := s.wait()
		if wait <= 0 {
			ctx, cancel := context.WithTimeout(context.Background(), s.hooks.Limit(attemptLimit))
			s.current, s.abandon = s.slot, cancel
			return s.slot, ctx, cancel
		}
		s.sleep(wait)
	}
	return nil, nil, nil
}

// wait is how long until the slot is due; an hour stands for an empty one. The caller holds mu.
func (s *sender) wait() time.Duration {
	now := time.Now()
	switch {
	case s.slot == nil:
		return time.Hour
	case now.Before(s.flushUntil):
		return s.flushDue.Sub(now)
	}
	return s.pacing.due(s.slot.urgent).Sub(now)
}

// sleep lets go of mu until something changes or the time is over.
func (s *sender) sleep(d time.Duration) {
	changed := s.changed
	s.mu.Unlock()
	defer s.mu.Lock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	}
}

// send makes one attempt. A fault in it is a failed attempt and never the end of the program. D3.
func (s *sender) send(ctx context.Context, r *report) (got answer, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("sending: %v", fault)
		}
	}()
	all := r.status.Metrics
	r.status.Metrics = selectMetrics(all, r.keep)
	if left := len(all) - len(r.status.Metrics); left > 0 && said.metrics.first("") {
		s.log.log(slog.LevelWarn, "more than 256 metrics or 64 KiB, metrics left out; Keep marks those that must stay", "leftOut", left)
	}
	body, err := encode(wire.TrainJobStatusUpdate{TrainerStatus: &r.status})
	if err != nil {
		return answer{}, err
	}
	return s.transport.do(ctx, http.MethodPost, body)
}

// encode writes JSON without the escapes for HTML, which cost room and say nothing.
func encode(update wire.TrainJobStatusUpdate) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(update)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// settle acts on the end of an attempt.
func (s *sender) settle(r *report, start time.Time, got answer, err error) {
	end := time.Now()
	became := failed
	if err == nil {
		became = outcomeOf(got.status)
	}
	s.mu.Lock()
	stopped := s.closed
	s.current, s.abandon = nil, nil
	if became == failed {
		asked, _ := retryAfter(got.retryAfter, end)
		s.pacing.failed(end, asked)
	} else {
		s.pacing.settled(start)
	}
	switch {
	case s.slot != r: // a newer one waits; in a flush it goes at once
	case became == failed:
		s.flushDue = end.Add(s.hooks.Limit(flushPause))
	default:
		s.slot = nil
	}
	s.notify()
	s.mu.Unlock()
	if !stopped || err == nil {
		s.speak(end, became, got, err)
	}
}

// speak writes the log lines about an attempt. D14, D20, D21.
func (s *sender) speak(now time.Time, became outcome, got answer, err error) {
	for _, text := range got.warnings {
		if said.warnings.first(text) {
			s.log.log(slog.LevelWarn, "the server warns", "warning", cut(text, maxMessage))
		}
	}
	switch {
	case became == taken:
		if failures := s.trouble.end(); failures > 0 {
			s.log.log(slog.LevelInfo, "reports get through again", "failures", failures)
		}
	case !s.trouble.add(now):
	case err != nil:
		s.log.log(slog.LevelWarn, "no report gets through", "endpoint", s.endpoint, "failures", s.trouble.count, "because", err)
	default:
		s.log.log(slog.LevelWarn, map[outcome]string{failed: "no report gets through", refused: "the server refuses a report"}[became],
			"endpoint", s.endpoint, "failures", s.trouble.count, "status", got.status, "message", serverMessage(got.body))
	}
}
