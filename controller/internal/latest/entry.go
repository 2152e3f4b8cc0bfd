// SPDX-License-Identifier: Apache-2.0

package latest

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

// rank says who goes first. Within a rank the longest waiting goes first.
type rank int

const (
	// rankFinal: someone waits for the answer, and nothing comes after it.
	rankFinal rank = iota
	// rankFirst: a job that shows nothing at all yet.
	rankFirst
	// rankOther is every other report.
	rankOther
	ranks
)

// entry is all that is known of one job. The lock of the Store guards it.
type entry struct {
	job report.JobKey
	uid types.UID

	// newest is the report that was accepted last, from its sender; version
	// counts the accepted ones and is 0 before the first.
	newest  report.Report
	from    report.Sender
	version uint64
	// accepted is when newest was accepted, by the clock here.
	accepted time.Time
	// trimmed tells that the metrics of newest were left out.
	trimmed bool
	// settled is the newest version that is stored, or needs not be.
	settled uint64
	// taken is the version that the writer works on; 0 when none.
	taken uint64
	// since is when the oldest change that is not settled was accepted.
	since time.Time
	// sinceNext is the same for changes accepted after taken.
	sinceNext time.Time
	// written is what this process stored last.
	written *report.Report
	// writtenAt is when that was.
	writtenAt time.Time
	// shown tells that something is stored for the job.
	shown bool
	// attempts counts the failed tries since the job was last stored.
	attempts int
	// hurried is when the job last came first with a final report.
	hurried time.Time

	// lastSeen holds the time of the newest report of each pod.
	lastSeen map[string]time.Time

	waiters []waiter

	// Place in the queue.
	rank      rank
	notBefore time.Time
	place     place
	index     int
	seq       uint64
}

// waiter is a caller that waits until a version is settled.
type waiter struct {
	version uint64
	ready   chan answer
}

// answer is what a waiter is told.
type answer struct {
	outcome report.Outcome
	err     error
}

func (e *entry) dirty() bool { return e.version > e.settled }

func (e *entry) pending() report.Pending {
	return report.Pending{
		Job: e.job, JobUID: e.uid, From: e.from, Report: e.newest,
		Version: e.version, Since: e.since, Attempts: e.attempts, Trimmed: e.trimmed, Written: e.written,
	}
}

// supersedes tells whether a newer report is already known.
func (e *entry) supersedes(from report.Sender, rep report.Report) bool {
	if last, ok := e.lastSeen[from.Reporter()]; ok && rep.OrderTime().Before(last) {
		return true
	}
	// A report under way when the job completed must not take the place of the
	// final one. Training that goes on after it says so by a later time, or by a
	// pod that was not there before, whatever its clock says.
	if e.version == 0 || !e.newest.Final() || rep.Final() || from.PodCreated.After(e.accepted) {
		return false
	}
	return !rep.After(e.newest)
}

// stored tells whether this very report is stored, as when an answer was lost
// and the report is sent again.
func (e *entry) stored(rep report.Report) bool {
	return !e.dirty() && e.written != nil && e.written.Equal(rep)
}

// accept makes the report the newest.
func (e *entry) accept(from report.Sender, rep report.Report, now time.Time, maxReporters int) {
	if !e.dirty() {
		e.since = now
	} else if e.taken == e.version {
		e.sinceNext = now
	}
	e.version++
	e.newest, e.from, e.accepted, e.trimmed = rep, from, now, false
	e.remember(from.Reporter(), rep.OrderTime(), maxReporters)
}

func (e *entry) remember(reporter string, t time.Time, limit int) {
	if e.lastSeen == nil {
		e.lastSeen = make(map[string]time.Time, 1)
	}
	if _, known := e.lastSeen[reporter]; !known && len(e.lastSeen) >= limit {
		oldest, oldestTime := "", time.Time{}
		for name, seen := range e.lastSeen {
			if oldest == "" || seen.Before(oldestTime) {
				oldest, oldestTime = name, seen
			}
		}
		delete(e.lastSeen, oldest)
	}
	e.lastSeen[reporter] = t
}

// nextRank decides the rank of what is to be written. A final report comes
// first once in a while only, so that no job can push others aside for good.
func (e *entry) nextRank(now time.Time, hurryEvery time.Duration) rank {
	switch {
	case e.newest.Final() && (e.hurried.IsZero() || now.Sub(e.hurried) >= hurryEvery):
		return rankFinal
	case !e.shown:
		return rankFirst
	}
	return rankOther
}

// release answers every waiter up to a version.
func (e *entry) release(version uint64, a answer) {
	left := e.waiters[:0]
	for _, w := range e.waiters {
		if w.version <= version {
			w.ready <- a // never blocks: the channel has room for the one answer
		} else {
			left = append(left, w)
		}
	}
	clear(e.waiters[len(left):])
	e.waiters = left
}

// leave takes a waiter off the list.
func (e *entry) leave(ready chan answer) {
	for i, w := range e.waiters {
		if w.ready == ready {
			last := len(e.waiters) - 1
			e.waiters[i] = e.waiters[last]
			e.waiters[last] = waiter{}
			e.waiters = e.waiters[:last]
			return
		}
	}
}
