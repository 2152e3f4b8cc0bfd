// SPDX-License-Identifier: Apache-2.0

// Package hooks is what tests may change in a reporter. Programs cannot import it.
package hooks

import "time"

// Hooks replaces clocks and scales times. The zero value changes nothing.
type Hooks struct {
	// TimeScale multiplies the interval, the back-off, Retry-After and the minute between log
	// lines. 0 means 1.
	TimeScale float64
	// LimitScale multiplies the limit of an attempt, the limits of a flush and the pause between
	// its attempts. 0 means 1.
	LimitScale float64
	// RateClock is the clock of the rate of steps, nil for the real one.
	RateClock func() time.Duration
}

// Time scales a time of pacing.
func (h Hooks) Time(d time.Duration) time.Duration { return scale(d, h.TimeScale) }

// Limit scales a limit.
func (h Hooks) Limit(d time.Duration) time.Duration { return scale(d, h.LimitScale) }

func scale(d time.Duration, factor float64) time.Duration {
	if factor == 0 {
		return d
	}
	return time.Duration(float64(d) * factor)
}
