// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"time"

	"github.com/milepost-dev/milepost/e2e/bench/fixture"
)

// Size is how large the scenarios are.
type Size struct {
	Jobs        int           // TrainJobs of most scenarios
	Connections int           // of clients at full speed
	Rate        float64       // reports per second of the open loop
	CrowdPods   int           // pods of one job beside the others
	FloodRate   float64       // reports per second of the pod that floods
	ManyJobs    int           // TrainJobs of the scenario with a small budget
	ManyBudget  int           // its API writes per second
	KnownJobs   int           // TrainJobs of the scenario that measures memory, two pods each
	Warmup      time.Duration // sent before a run is measured
	Duration    time.Duration // of a run
	LongRun     time.Duration // of a run that must show the worst case
	JobLength   time.Duration // within which jobs end with a final report
}

// Full is the size the acceptance is stated for.
func Full() Size {
	return Size{
		Jobs: 200, Connections: 64, Rate: 2000, CrowdPods: 512, FloodRate: 1000,
		ManyJobs: 5000, ManyBudget: 100, KnownJobs: 10_000,
		Warmup: 3 * time.Second, Duration: 20 * time.Second,
		LongRun: 3 * time.Minute, JobLength: 10 * time.Minute,
	}
}

// Quick shows in a minute or two that everything works.
func Quick() Size {
	return Size{
		Jobs: 20, Connections: 16, Rate: 200, CrowdPods: 24, FloodRate: 200,
		ManyJobs: 100, ManyBudget: 5, KnownJobs: 200,
		Warmup: time.Second, Duration: 4 * time.Second,
		LongRun: 10 * time.Second, JobLength: 30 * time.Second,
	}
}

const (
	// interval and jitter are those of the published clients.
	interval = 5 * time.Second
	jitter   = 0.1
)

// small is the bed of most scenarios, crowded that of those that need a job of many pods.
func (s Size) small() Bed { return Bed{Size: fixture.Size{Jobs: s.Jobs}} }

func (s Size) crowded() Bed { return Bed{Size: fixture.Size{Jobs: s.Jobs, CrowdPods: s.CrowdPods}} }

// All lists the scenarios.
func All(s Size) []Scenario {
	return []Scenario{
		fullSpeed(s), offered(s), newConnections(s), steady(s), crowd(s), flood(s), many(s), memory(s),
	}
}
