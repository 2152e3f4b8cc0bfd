// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"

	"k8s.io/utils/clock"
)

func TestCollectorIsTightOnlyWithMuchInUse(t *testing.T) {
	before := debug.SetGCPercent(quickPercent)
	defer debug.SetGCPercent(before)
	if live := liveBytes(); live > manyBytes {
		t.Fatalf("%d bytes are in use before the test", live)
	}
	c := newCollector(clock.RealClock{})
	if c.percent != tightPercent || debug.SetGCPercent(tightPercent) != tightPercent {
		t.Errorf("percent is %d before the caches are full, want %d", c.percent, tightPercent)
	}
	c.adjust(liveBytes())
	if c.percent != quickPercent {
		t.Errorf("percent is %d with little in use, want %d", c.percent, quickPercent)
	}

	caches := make([]byte, 2*manyBytes)
	runtime.GC()
	c.adjust(liveBytes())
	runtime.KeepAlive(caches)
	if c.percent != tightPercent {
		t.Errorf("percent is %d with much in use, want %d", c.percent, tightPercent)
	}
}

func TestCollectorLeavesTheChoiceOfTheOperator(t *testing.T) {
	t.Setenv("GOGC", "77")
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newCollector(clock.RealClock{}).Start(ctx); err != nil {
		t.Fatal(err)
	}
	if got := debug.SetGCPercent(77); got != 77 {
		t.Errorf("percent is %d, want the 77 of the environment", got)
	}
}
