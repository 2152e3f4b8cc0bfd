// SPDX-License-Identifier: Apache-2.0

package latest

import (
	"time"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

// Wake is signalled when something new waits to be written.
func (s *Store) Wake() <-chan struct{} { return s.wake }

// Due returns 0 when a report waits to be written, else the time until one is
// to be tried again; negative when there is nothing.
func (s *Store) Due() time.Duration {
	now := s.cfg.Clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.promote(now)
	switch {
	case s.queue.first() != nil:
		return 0
	case len(s.queue.delayed) > 0:
		return s.queue.delayed[0].notBefore.Sub(now)
	}
	return -1
}

// Take hands out the report that is to be written next. It must be followed by
// exactly one of Settle, Retry, Trim, Reject and Forget.
func (s *Store) Take() (report.Pending, bool) {
	now := s.cfg.Clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.promote(now)
	e := s.queue.first()
	if e == nil {
		return report.Pending{}, false
	}
	if e.rank == rankFinal {
		e.hurried = now
	}
	s.queue.remove(e)
	e.taken = e.version
	return e.pending(), true
}

// Settle ends the work on a report: it is stored, or a newer one of its job is.
func (s *Store) Settle(p report.Pending, outcome report.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.working(p)
	if e == nil {
		return
	}
	e.shown = true
	if outcome == report.Stored {
		e.written, e.writtenAt = &p.Report, s.cfg.Clock.Now()
		if p.Trimmed {
			outcome = report.Trimmed
		}
	}
	s.settle(e, p.Version, answer{outcome: outcome})
}

// Reject ends the work on a report that can never be stored.
func (s *Store) Reject(p report.Pending, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.working(p)
	if e == nil {
		return
	}
	s.settle(e, p.Version, answer{err: err})
	if !e.dirty() {
		// What is remembered of the job would claim that the report is stored.
		delete(s.entries, e.uid)
	}
}

// working returns the entry that the writer works on; nil when the job was
// forgotten meanwhile.
func (s *Store) working(p report.Pending) *entry {
	if e := s.entries[p.JobUID]; e != nil && e.taken == p.Version {
		return e
	}
	return nil
}

func (s *Store) settle(e *entry, version uint64, a answer) {
	e.taken, e.attempts = 0, 0
	e.settled = version
	e.release(version, a)
	if !e.dirty() {
		s.unsettled--
		return
	}
	e.since = e.sinceNext
	s.place(e, s.cfg.Clock.Now())
	s.signal()
}

// Retry gives a report back, to be tried again after a while; with a newer one
// of the job in its place if there is one by then.
func (s *Store) Retry(p report.Pending, after time.Duration) {
	now := s.cfg.Clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.working(p)
	if e == nil {
		return
	}
	e.taken = 0
	e.attempts++
	if e.newest.Final() {
		e.hurried = time.Time{} // its turn did not count
	}
	if after > 0 {
		s.queue.delay(e, now.Add(after))
	} else {
		s.queue.push(e, e.nextRank(now, s.cfg.HurryEvery))
	}
	s.signal()
}

// Trim gives a report back that can only be stored without its metrics, to be
// tried so; or the newer one of the job if there is one by then.
func (s *Store) Trim(p report.Pending) {
	now := s.cfg.Clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.working(p)
	if e == nil {
		return
	}
	if e.taken == e.version {
		e.newest.Metrics, e.trimmed = nil, true
	}
	e.taken = 0
	e.hurried = time.Time{} // its turn did not count
	s.queue.push(e, e.nextRank(now, s.cfg.HurryEvery))
	s.signal()
}

// Hasten makes everything ready that waits to be tried again.
func (s *Store) Hasten() {
	now := s.cfg.Clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue.delayed) > 0 {
		e := s.queue.delayed[0]
		s.queue.push(e, e.nextRank(now, s.cfg.HurryEvery))
	}
	s.signal()
}

// promote makes entries ready whose time has come.
func (s *Store) promote(now time.Time) {
	for len(s.queue.delayed) > 0 && !s.queue.delayed[0].notBefore.After(now) {
		e := s.queue.delayed[0]
		s.queue.push(e, e.nextRank(now, s.cfg.HurryEvery))
	}
}
