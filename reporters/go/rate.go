// SPDX-License-Identifier: Apache-2.0

package milepost

import (
	"math"
	"time"
)

// memory is how fast old steps lose weight in the rate.
const memory = time.Minute

// rate is the smoothed speed of this process, from its own steps only: after a resume the step
// counter is high and the process is young, so a rate over all steps would be far too fast. D6.
type rate struct {
	known bool          // whether last holds a sample
	at    time.Duration // of the last sample
	step  int64         // of the last sample
	time  float64       // weighted seconds
	steps float64       // weighted steps
}

// add notes that the training is at a step at a time of a clock that never goes back.
func (r *rate) add(at time.Duration, step int64) {
	steps := float64(step) - float64(r.step)
	switch {
	case !r.known || steps < 0: // the first sample, or a resume within the process
		*r = rate{}
	case steps == 0:
		return
	default:
		passed := max(0, at-r.at).Seconds()
		weight := math.Exp(-passed / memory.Seconds())
		r.time = r.time*weight + passed
		r.steps = r.steps*weight + steps
	}
	r.known, r.at, r.step = true, at, step
}

// remaining estimates the seconds until total, nil as long as nothing is known.
func (r *rate) remaining(step, total int64) *int32 {
	if r.steps <= 0 || r.time <= 0 {
		return nil
	}
	left := max(0, float64(total)-float64(step))
	return seconds(math.Floor(left*r.time/r.steps + 0.5))
}
