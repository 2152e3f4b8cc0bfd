// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

const (
	// manyBytes is the live heap from which on memory counts for more than the time of collecting
	// garbage: the caches of some thousand TrainJobs.
	manyBytes = 64 << 20
	// quickPercent and tightPercent are how much garbage may pile up below and above manyBytes, in
	// percent of the live heap. 100 is Go's default.
	quickPercent, tightPercent = 100, 40

	collectorPeriod = 30 * time.Second
	liveHeap        = "/gc/heap/live:bytes"
)

// collector trades memory for speed by the size of the caches. A manager of a few hundred
// TrainJobs answers reports with as little garbage collection as usual; one of ten thousand stays
// within 200 MiB. GOGC in the environment switches it off.
type collector struct {
	clock   clock.WithTicker
	percent int
}

var (
	_ manager.Runnable               = (*collector)(nil)
	_ manager.LeaderElectionRunnable = (*collector)(nil)
)

// NeedLeaderElection is false: every replica has caches.
func (c *collector) NeedLeaderElection() bool { return false }

// newCollector is tight from the start on: how much the caches will hold is not known before they
// are full, and the lists that fill them leave much garbage behind.
func newCollector(clock clock.WithTicker) *collector {
	c := &collector{clock: clock}
	if !operatorChose() {
		c.set(tightPercent)
	}
	return c
}

// operatorChose tells whether the environment says how to collect garbage.
func operatorChose() bool { return os.Getenv("GOGC") != "" }

// Start adjusts the garbage collector until ctx ends. The caches are full when it is called.
func (c *collector) Start(ctx context.Context) error {
	if operatorChose() {
		return nil
	}
	// What the lists took is not needed again, and would go back to the system only in the end.
	debug.FreeOSMemory()
	ticker := c.clock.NewTicker(collectorPeriod)
	defer ticker.Stop()
	for {
		c.adjust(liveBytes())
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

func (c *collector) adjust(live uint64) {
	if percent := percentFor(live); percent != c.percent {
		c.set(percent)
	}
}

func (c *collector) set(percent int) {
	c.percent = percent
	debug.SetGCPercent(percent)
}

func percentFor(live uint64) int {
	if live > manyBytes {
		return tightPercent
	}
	return quickPercent
}

// liveBytes is what was in use after the last garbage collection.
func liveBytes() uint64 {
	sample := []metrics.Sample{{Name: liveHeap}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
