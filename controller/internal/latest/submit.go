// SPDX-License-Identifier: Apache-2.0

package latest

import (
	"context"
	"errors"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

// retryAfter is what a caller is told whose final report is not stored in time.
const retryAfter = time.Second

// Submit keeps the report as the newest of its job unless a newer one is known.
// A final report returns once it, or a newer report of its job, is stored; the
// error is otherwise a *report.Refusal with report.ErrNotStored, and the report
// is still kept. Any other report waits for its write when that is near.
func (s *Store) Submit(ctx context.Context, from report.Sender, rep report.Report) (report.Outcome, error) {
	kept, err := s.firstSight(ctx, from)
	if err != nil {
		return 0, err
	}
	ready, outcome, limit := s.take(from, rep, kept)
	if ready == nil {
		return outcome, nil
	}
	a := s.wait(ctx, from, ready, limit)
	switch {
	case errors.Is(a.err, report.ErrNotStored) && !rep.Final():
		return outcome, nil
	case a.err != nil:
		return 0, a.err
	case outcome == report.Superseded:
		return outcome, nil
	}
	return a.outcome, nil
}

// firstSight reads what is stored when the job is not known here yet. That is
// how a new process, or a second replica, learns what it must not overwrite.
func (s *Store) firstSight(ctx context.Context, from report.Sender) (*report.Kept, error) {
	s.mu.Lock()
	known := s.entries[from.JobUID] != nil
	s.mu.Unlock()
	if known {
		return nil, nil
	}
	kept, err := s.keeper.Load(ctx, from.Job)
	if err != nil {
		return nil, err
	}
	return &kept, nil
}

// take decides under the lock. A nil channel means that the outcome is final.
func (s *Store) take(from report.Sender, rep report.Report, kept *report.Kept) (chan answer, report.Outcome, time.Duration) {
	now := s.cfg.Clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entry(from, kept)
	if s.supersedes(e, from, rep, kept, now) {
		s.cfg.Observer.Superseded()
		if !rep.Final() || !e.dirty() {
			return nil, report.Superseded, 0
		}
		// The newer report is not stored yet, so neither is the final one done.
		return e.await(), report.Superseded, s.cfg.FinalWait
	}
	if e.stored(rep) {
		return nil, report.Stored, 0
	}
	if e.dirty() && e.taken != e.version {
		s.cfg.Observer.Coalesced()
	}
	s.cfg.Observer.Accepted()
	if !e.dirty() {
		s.unsettled++
	}
	e.accept(from, rep, now, s.cfg.MaxReporters)
	near := s.enqueue(e, now)
	switch {
	case rep.Final():
		return e.await(), report.Accepted, s.cfg.FinalWait
	case near:
		return e.await(), report.Accepted, s.cfg.QuickWait
	}
	return nil, report.Accepted, 0
}

func (s *Store) entry(from report.Sender, kept *report.Kept) *entry {
	e := s.entries[from.JobUID]
	if e == nil {
		e = &entry{job: from.Job, uid: from.JobUID}
		e.shown = kept != nil && kept.Report != nil
		s.entries[from.JobUID] = e
	}
	return e
}

func (s *Store) supersedes(e *entry, from report.Sender, rep report.Report, kept *report.Kept, now time.Time) bool {
	if e.supersedes(from, rep) {
		return true
	}
	return kept != nil && kept.JobUID == from.JobUID && kept.Newer(from, rep, now)
}

// enqueue puts a changed entry in its place and tells whether its write is near.
func (s *Store) enqueue(e *entry, now time.Time) (near bool) {
	r := e.nextRank(now, s.cfg.HurryEvery)
	before := s.queue.ahead(r)
	switch e.place {
	case placeNone:
		if e.taken != 0 && r != rankFinal && s.cfg.MinGap > s.cfg.QuickWait {
			return false // the write under way puts the next one off
		}
		if e.taken == 0 {
			s.place(e, now)
			s.signal()
		}
	case placeReady:
		before-- // the entry itself was counted
		if r < e.rank {
			s.queue.push(e, r)
		}
	case placeDelayed:
		// A failed write keeps its pause; one that only keeps its distance gives
		// way to a report that is urgent.
		if e.attempts == 0 && r < rankOther {
			s.queue.push(e, r)
			s.signal()
		}
	}
	if e.place == placeDelayed {
		return false
	}
	return s.pace.Expect(max(before, 0)) <= s.cfg.QuickWait
}

// place puts an entry where it belongs: among those that wait for their turn, or
// aside while its last write is too recent.
func (s *Store) place(e *entry, now time.Time) {
	r := e.nextRank(now, s.cfg.HurryEvery)
	next := e.writtenAt.Add(s.cfg.MinGap)
	if r == rankOther && next.After(now) {
		s.queue.delay(e, next)
		return
	}
	s.queue.push(e, r)
}

func (e *entry) await() chan answer {
	ready := make(chan answer, 1)
	e.waiters = append(e.waiters, waiter{version: e.version, ready: ready})
	return ready
}

func (s *Store) wait(ctx context.Context, from report.Sender, ready chan answer, limit time.Duration) answer {
	timer := s.cfg.Clock.NewTimer(limit)
	defer timer.Stop()
	select {
	case a := <-ready:
		return a
	case <-timer.C():
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case a := <-ready: // the answer came with the end of the wait
		return a
	default:
	}
	if e := s.entries[from.JobUID]; e != nil {
		e.leave(ready)
	}
	return answer{err: &report.Refusal{
		Err: report.ErrNotStored, Reason: "notStored",
		Message:    "the final report is not stored yet; send it again",
		RetryAfter: retryAfter, Cause: ctx.Err(),
	}}
}

// signal wakes the writer. One signal is enough, however many wait.
func (s *Store) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
