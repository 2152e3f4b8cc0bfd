// SPDX-License-Identifier: Apache-2.0

package statuswriter

import (
	"errors"
	"math"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Budget is what may be spent on calls to the API server: so many in a burst
// and so many per second. It is exact: in any stretch of time t there are never
// more than burst + qps×t calls.
type Budget struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	qps    float64
	burst  float64
	tokens float64
	last   time.Time
	// heldUntil is set while the API server is not to be called.
	heldUntil time.Time
}

// NewBudget returns a full Budget. Both numbers must be above 0.
func NewBudget(qps float64, burst int, c clock.PassiveClock) (*Budget, error) {
	if qps <= 0 || math.IsNaN(qps) || math.IsInf(qps, 0) {
		return nil, errors.New("qps must be a number above 0")
	}
	if burst < 1 {
		return nil, errors.New("burst must be at least 1")
	}
	return &Budget{clock: c, qps: qps, burst: float64(burst), tokens: float64(burst), last: c.Now()}, nil
}

// Expect returns the time until a call that has so many others before it.
func (b *Budget) Expect(before int) time.Duration {
	now := b.clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now)
	return max(b.until(float64(before)+1), b.heldUntil.Sub(now), 0)
}

// Spend takes one call out of the budget and returns 0, or takes nothing and
// returns the time until there is one.
func (b *Budget) Spend() time.Duration {
	now := b.clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if held := b.heldUntil.Sub(now); held > 0 {
		return held
	}
	b.refill(now)
	if wait := b.until(1); wait > 0 {
		return wait
	}
	b.tokens--
	return 0
}

// Refund gives a call back that was not made.
func (b *Budget) Refund() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(b.tokens+1, b.burst)
}

// Hold stops all calls for a while.
func (b *Budget) Hold(d time.Duration) {
	now := b.clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if until := now.Add(d); until.After(b.heldUntil) {
		b.heldUntil = until
	}
}

// Release ends a Hold.
func (b *Budget) Release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.heldUntil = time.Time{}
}

// Raise lifts the rate, so that so many calls fit into a time. It is meant for
// the end of a process, where what is not written is lost.
func (b *Budget) Raise(calls int, within time.Duration) {
	now := b.clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now)
	b.qps = max(b.qps, float64(calls)/within.Seconds())
}

func (b *Budget) refill(now time.Time) {
	if passed := now.Sub(b.last); passed > 0 {
		b.tokens = min(b.tokens+passed.Seconds()*b.qps, b.burst)
		b.last = now
	}
}

// until returns the time until there are so many tokens. It rounds up, so that
// a wait of that length is always enough.
func (b *Budget) until(tokens float64) time.Duration {
	missing := tokens - b.tokens
	if missing <= 0 {
		return 0
	}
	return time.Duration(math.Ceil(missing / b.qps * float64(time.Second)))
}
