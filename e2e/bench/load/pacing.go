// SPDX-License-Identifier: Apache-2.0

package load

import (
	"iter"
	"math/rand/v2"
	"time"
)

// due is a report that has become due.
type due struct {
	after time.Duration // since the start of the run
	final bool
}

// openSchedule yields the moments of a fixed rate until the end of the run.
func openSchedule(rate float64, total time.Duration) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		for i := 0; ; i++ {
			// Computed from the start each time: adding up a rounded gap would drift.
			after := time.Duration(float64(i) / rate * float64(time.Second))
			if after >= total || !yield(after) {
				return
			}
		}
	}
}

// periodicSchedule yields the reports of one job until the end of the run. The first comes at a
// random moment of the first interval, as jobs do not start together. A job whose own end lies
// within the run sends its final report there and nothing behind it.
func periodicSchedule(rng *rand.Rand, g *Group, total time.Duration) iter.Seq[due] {
	return func(yield func(due) bool) {
		end := total
		if g.JobLength > 0 {
			end = time.Duration(rng.Int64N(int64(g.JobLength)))
		}
		for at := time.Duration(rng.Int64N(int64(g.Interval))); at < min(end, total); at += jittered(rng, g) {
			if !yield(due{after: at}) {
				return
			}
		}
		if end < total {
			yield(due{after: end, final: true})
		}
	}
}

// jittered is the interval, longer or shorter by up to the share the group asks for.
func jittered(rng *rand.Rand, g *Group) time.Duration {
	spread := g.Jitter * (2*rng.Float64() - 1)
	return time.Duration(float64(g.Interval) * (1 + spread))
}
