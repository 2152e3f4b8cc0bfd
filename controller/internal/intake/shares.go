// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"math"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

// shares hands every reporter, and every namespace while the server is busy,
// its part of the server.
type shares struct {
	pods       *buckets
	namespaces *buckets
	// strangers are the failed proofs of an address.
	strangers *buckets
}

func newShares(l Limits, c clock.PassiveClock) *shares {
	return &shares{
		pods:       newBuckets(l.PodRate, l.PodBurst, c),
		namespaces: newBuckets(l.NamespaceRate, l.NamespaceBurst, c),
		strangers:  newBuckets(l.StrangerRate, l.StrangerBurst, c),
	}
}

// allow returns nil, or which limit the sender is over.
func (s *shares) allow(from report.Sender, busy bool) (limit string, err error) {
	if wait := s.pods.take(from.Reporter()); wait > 0 {
		return "pod", errTooMany("this pod sends more often than its share allows", wait)
	}
	// The namespace pays even while nobody else is waiting, so that one that
	// fills the server is already in debt when it becomes busy.
	if wait := s.namespaces.take(from.Job.Namespace); wait > 0 && busy {
		return "namespace", errTooMany("the pods of this namespace send more often than its share allows", wait)
	}
	return "", nil
}

// buckets are token buckets by key. Keys are proven identities or addresses, so
// there are not more of them than pods and machines; full buckets are dropped.
type buckets struct {
	rate, burst float64
	clock       clock.PassiveClock

	mu    sync.Mutex
	held  map[string]bucket
	sweep time.Time
}

type bucket struct {
	tokens float64
	last   time.Time
}

// sweepEvery is how often buckets that are full again are dropped.
const sweepEvery = time.Minute

func newBuckets(rate, burst float64, c clock.PassiveClock) *buckets {
	return &buckets{rate: rate, burst: burst, clock: c, held: map[string]bucket{}, sweep: c.Now()}
}

// take takes one token and returns 0, or the time until there is one.
func (b *buckets) take(key string) time.Duration {
	now := b.clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.sweep) >= sweepEvery {
		b.drop(now)
	}
	held, ok := b.held[key]
	if !ok {
		held = bucket{tokens: b.burst, last: now}
	}
	held.tokens, held.last = b.filled(held, now), now
	defer func() { b.held[key] = held }()
	if wait := b.until(held); wait > 0 {
		return wait
	}
	held.tokens--
	return 0
}

// wait returns the time until there is a token, and takes none.
func (b *buckets) wait(key string) time.Duration {
	now := b.clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	held, ok := b.held[key]
	if !ok {
		return 0
	}
	held.tokens = b.filled(held, now)
	return b.until(held)
}

// until returns the time until there is a token.
func (b *buckets) until(held bucket) time.Duration {
	if held.tokens >= 1 {
		return 0
	}
	return time.Duration(math.Ceil((1 - held.tokens) / b.rate * float64(time.Second)))
}

func (b *buckets) filled(held bucket, now time.Time) float64 {
	return min(held.tokens+max(now.Sub(held.last).Seconds(), 0)*b.rate, b.burst)
}

func (b *buckets) drop(now time.Time) {
	b.sweep = now
	for key, held := range b.held {
		if b.filled(held, now) >= b.burst {
			delete(b.held, key)
		}
	}
}
