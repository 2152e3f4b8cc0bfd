// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"time"

	"github.com/milepost-dev/milepost/e2e/bench/load"
	"github.com/milepost-dev/milepost/e2e/bench/result"
)

const (
	// wantNeighbourFactor bounds how much the p99 of the other jobs may grow.
	wantNeighbourFactor = 2.0

	alone   = "alone"
	crowded = "with the crowd"
	flooded = "with the flood"
)

// neighbours is the traffic of the jobs that must not notice anything: as many reports as they send
// in any cluster, at an even rate, so that two runs can be compared.
func (s Size) neighbours(p Pods) load.Group {
	return load.Group{
		Name: quietClients, Mode: load.Open, Targets: p.Quiet, Connections: len(p.Quiet),
		Rate: float64(s.Jobs) / interval.Seconds(),
	}
}

// crowd asks whether one job of many pods, which all report, harms the others.
func crowd(s Size) Scenario {
	withCrowd := func(p Pods) []load.Group {
		return []load.Group{s.neighbours(p), {
			Name: crowdClients, Mode: load.Periodic, Targets: p.Crowd, Interval: time.Second, Jitter: jitter, Retry: true, Untracked: true,
		}}
	}
	return Scenario{
		Name:    "crowd",
		Title:   fmt.Sprintf("%d pods of one job at 1/s beside %d jobs", s.CrowdPods, s.Jobs),
		Servers: []result.Server{result.Echo, result.Milepost},
		Bed:     s.crowded(),
		Track:   true,
		Phases:  s.disturbed(crowded, withCrowd),
		Judge:   func(m Measures) result.Verdict { return judgeNeighbours(m, crowded) },
	}
}

// flood asks whether one pod that sends far too much harms the others.
func flood(s Size) Scenario {
	withFlood := func(p Pods) []load.Group {
		return []load.Group{s.neighbours(p), {
			Name: floodClients, Mode: load.Open, Targets: p.Crowd[:1], Connections: 32, Rate: s.FloodRate, Untracked: true,
		}}
	}
	return Scenario{
		Name:    "flood",
		Title:   fmt.Sprintf("one pod at %s/s beside %d jobs", result.Count(s.FloodRate), s.Jobs),
		Servers: []result.Server{result.Echo, result.Milepost},
		Bed:     s.crowded(),
		Track:   true,
		Phases:  s.disturbed(flooded, withFlood),
		Judge:   func(m Measures) result.Verdict { return judgeNeighbours(m, flooded) },
	}
}

// disturbed measures the neighbours alone, disturbed, and alone again.
func (s Size) disturbed(name string, groups func(Pods) []load.Group) []Phase {
	// Twice as long as others: a few dozen reports per second must yield a p99 that means something.
	duration := 2 * s.Duration
	quiet := Phase{Name: alone, Warmup: s.Warmup, Duration: duration, Groups: func(p Pods) []load.Group {
		return []load.Group{s.neighbours(p)}
	}}
	return []Phase{quiet, {Name: name, Warmup: s.Warmup, Duration: duration, Groups: groups}, quiet}
}

func judgeNeighbours(m Measures, phase string) result.Verdict {
	before := func(server result.Server) float64 { return m.of(server, alone).mean(quietP99) }
	show := func(server result.Server, runs Measures) string {
		p99 := runs.mean(quietP99)
		return fmt.Sprintf("%s accepted, p99 %s ms against %s ms alone, %.2f times", result.Percent(runs.mean(quietShare)),
			result.Millis(p99), result.Millis(before(server)), ratio(p99, before(server)))
	}
	v := result.Verdict{
		Want:     fmt.Sprintf("others: 100 %% accepted, p99 less than %.0f times that without", wantNeighbourFactor),
		Compared: map[result.Server]string{},
	}
	if echo := m.of(result.Echo, phase); len(echo) > 0 {
		v.Compared[result.Echo] = show(result.Echo, echo)
	}
	if ours := m.of(result.Milepost, phase); len(ours) > 0 {
		v.Got = show(result.Milepost, ours)
		v.Pass = ours.mean(quietShare) == 1 && ratio(ours.mean(quietP99), before(result.Milepost)) < wantNeighbourFactor
	}
	return v
}

// ratio of nothing measured is far from any limit.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 1e6
	}
	return a / b
}
