// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"

	"github.com/milepost-dev/milepost/e2e/bench/fixture"
	"github.com/milepost-dev/milepost/e2e/bench/load"
	"github.com/milepost-dev/milepost/e2e/bench/result"
	"github.com/milepost-dev/milepost/e2e/bench/staleness"
)

const (
	wantSteadyAge = 2.0  // seconds
	wantManyAge   = 60.0 // seconds
	wantFinalAge  = 5.0  // seconds
)

// reporting is the traffic of training jobs: a report in five seconds each, and now and then a job
// that ends with a final one.
func (s Size) reporting(targets []load.Target) load.Group {
	return load.Group{
		Name: quietClients, Mode: load.Periodic, Targets: targets,
		Interval: interval, Jitter: jitter, JobLength: s.JobLength, Retry: true,
	}
}

// steady asks how a cluster of ordinary size fares with everything at its default.
func steady(s Size) Scenario {
	return Scenario{
		Name:    "steady",
		Title:   fmt.Sprintf("%d jobs, a report in 5 s each, defaults", s.Jobs),
		Servers: []result.Server{result.Echo, result.Milepost, result.Upstream, result.UpstreamLifted},
		Bed:     s.small(),
		Track:   true,
		Phases: []Phase{{Duration: 3 * s.Duration, Groups: func(p Pods) []load.Group {
			return []load.Group{s.reporting(p.Quiet)}
		}}},
		Judge: judgeSteady,
	}
}

func judgeSteady(m Measures) result.Verdict {
	show := func(runs Measures) string {
		text := result.Percent(runs.mean(quietShare)) + " accepted"
		if runs[0].Staleness != nil {
			text += fmt.Sprintf(", %.2f s old at most", runs.mean(oldest))
		}
		return text + showP99(runs)
	}
	ours := m.of(result.Milepost, "")
	v := result.Verdict{
		Want:     fmt.Sprintf("100 %% accepted, stored value ≤ %.0f s old", wantSteadyAge),
		Compared: m.compare(show),
	}
	if len(ours) > 0 {
		v.Got = show(ours)
		v.Pass = ours.mean(quietShare) == 1 && ours.mean(oldest) <= wantSteadyAge && stored(ours, all)
	}
	return v
}

// many asks how far a small budget goes.
func many(s Size) Scenario {
	return Scenario{
		Name:    "many-jobs",
		Title:   fmt.Sprintf("%s jobs, a report in 5 s each, budget %d writes/s", result.Count(float64(s.ManyJobs)), s.ManyBudget),
		Servers: []result.Server{result.Echo, result.Milepost},
		Bed:     Bed{Size: fixture.Size{Jobs: s.ManyJobs}, Direct: true},
		Track:   true,
		Phases: []Phase{{Duration: s.LongRun, Budget: s.ManyBudget, Groups: func(p Pods) []load.Group {
			return []load.Group{s.reporting(p.Quiet)}
		}}},
		Judge: func(m Measures) result.Verdict { return judgeMany(m, float64(s.ManyBudget)) },
	}
}

func judgeMany(m Measures, budget float64) result.Verdict {
	ours := m.of(result.Milepost, "")
	v := result.Verdict{
		Want: fmt.Sprintf("100 %% accepted, stored value ≤ %.0f s old, finals ≤ %.0f s, within the budget", wantManyAge, wantFinalAge),
		Compared: m.compare(func(runs Measures) string {
			return result.Percent(runs.mean(quietShare)) + showP99(runs)
		}),
	}
	if len(ours) == 0 {
		return v
	}
	v.Got = fmt.Sprintf("%s accepted, %.1f s old at most, %d finals stored within %.2f s and answered within %.2f s, p99 %s ms, %.1f writes/s",
		result.Percent(ours.mean(quietShare)), ours.mean(oldest), ours[0].Staleness.Finals.Reports,
		ours.mean(oldestFinal), ours.mean(slowestFinal), result.Millis(ours.mean(quietP99)), ours.mean(statusRate))
	v.Pass = ours.mean(quietShare) == 1 && ours.mean(oldest) <= wantManyAge &&
		ours.mean(oldestFinal) <= wantFinalAge && ours.mean(slowestFinal) <= wantFinalAge &&
		stored(ours, all) && stored(ours, finals) && withinBudget(&ours[0], budget)
	return v
}

// withinBudget tells whether the server wrote no more than its rate, and once its burst of twice that,
// allows.
func withinBudget(m *result.Measure, budget float64) bool {
	return m.Writes.Status <= budget*m.Writes.Seconds+2*budget
}

func statusRate(m *result.Measure) float64 { return m.Writes.StatusRate() }

func oldest(m *result.Measure) float64 { return all(m.Staleness).Max }

func oldestFinal(m *result.Measure) float64 { return finals(m.Staleness).Max }

// slowestFinal is the longest time to an answer, in seconds. A final report is answered only after
// it is stored, so its age alone would always look good.
func slowestFinal(m *result.Measure) float64 { return m.Load.Group(quietClients).Final.Max / 1000 }

func all(r *staleness.Report) staleness.Ages {
	if r == nil {
		return staleness.Ages{}
	}
	return r.All
}

func finals(r *staleness.Report) staleness.Ages {
	if r == nil {
		return staleness.Ages{}
	}
	return r.Finals
}

// stored tells whether there were reports and every one was seen.
func stored(runs Measures, pick func(*staleness.Report) staleness.Ages) bool {
	for i := range runs {
		if ages := pick(runs[i].Staleness); ages.Reports == 0 || ages.Never > 0 {
			return false
		}
	}
	return len(runs) > 0
}
