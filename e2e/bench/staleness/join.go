// SPDX-License-Identifier: Apache-2.0

package staleness

import (
	"slices"
	"time"

	"github.com/milepost-dev/milepost/e2e/bench/load"
)

// Sighting is a stored status as a watch showed it.
type Sighting struct {
	Job      string
	Sequence uint32 // of the report it came from; 0 when it came from none
	Final    bool   // progress 100
	At       time.Time
}

// Ages tells how long accepted reports took to become visible: each until its own value, or that of
// a newer report of its job, was seen in a watch. Seconds.
type Ages struct {
	Reports int     `json:"reports"`
	Never   int     `json:"never"` // not seen before the watch was stopped
	P50     float64 `json:"p50"`
	P99     float64 `json:"p99"`
	Max     float64 `json:"max"`
}

// Report is the staleness of one run.
type Report struct {
	All    Ages `json:"all"`
	Finals Ages `json:"finals"` // reports with progress 100
	Stored int  `json:"stored"` // different values seen
	Jobs   int  `json:"jobs"`   // jobs with an accepted report
}

// Join compares what was accepted with what was seen.
func Join(accepted []load.Accepted, seen []Sighting) Report {
	byJob := map[string][]Sighting{}
	for _, s := range seen {
		byJob[s.Job] = append(byJob[s.Job], s)
	}
	var all, finals collector
	jobs := map[string]bool{}
	for _, a := range accepted {
		jobs[a.Job] = true
		age, found := firstSeen(byJob[a.Job], a)
		all.add(age, found)
		if a.Final {
			finals.add(age, found)
		}
	}
	r := Report{All: all.ages(), Finals: finals.ages(), Jobs: len(jobs)}
	for job := range jobs {
		values := map[uint32]bool{}
		for _, s := range byJob[job] {
			values[s.Sequence] = true
		}
		delete(values, 0)
		r.Stored += len(values)
	}
	return r
}

// firstSeen is the time from the answer to the first sighting of the report or a newer one. It is 0
// where the value was visible before the answer arrived. Sightings are in the order of time, and so
// are their sequence numbers unless the server under test stored an older report over a newer one,
// so all of them are looked at.
func firstSeen(seen []Sighting, a load.Accepted) (time.Duration, bool) {
	at := slices.IndexFunc(seen, func(s Sighting) bool {
		return s.Sequence >= a.Sequence && (s.Final || !a.Final)
	})
	if at < 0 {
		return 0, false
	}
	return max(0, seen[at].At.Sub(a.At)), true
}

type collector struct {
	found []time.Duration
	never int
}

func (c *collector) add(age time.Duration, found bool) {
	if !found {
		c.never++
		return
	}
	c.found = append(c.found, age)
}

func (c *collector) ages() Ages {
	a := Ages{Reports: len(c.found) + c.never, Never: c.never}
	if len(c.found) == 0 {
		return a
	}
	slices.Sort(c.found)
	at := func(share float64) float64 {
		return c.found[min(len(c.found)-1, int(share*float64(len(c.found))))].Seconds()
	}
	a.P50, a.P99, a.Max = at(0.50), at(0.99), c.found[len(c.found)-1].Seconds()
	return a
}
