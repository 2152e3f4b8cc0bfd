// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"

	"github.com/milepost-dev/milepost/e2e/bench/fixture"
	"github.com/milepost-dev/milepost/e2e/bench/load"
	"github.com/milepost-dev/milepost/e2e/bench/result"
)

const wantResident = 200 << 20 // bytes

// memory asks what it costs to know many jobs and pods, of which a few report.
func memory(s Size) Scenario {
	return Scenario{
		Name:    "memory",
		Title:   fmt.Sprintf("%s TrainJobs and %s pods known", result.Count(float64(s.KnownJobs)), result.Count(float64(2*s.KnownJobs))),
		Servers: []result.Server{result.Milepost},
		Bed:     Bed{Size: fixture.Size{Jobs: s.KnownJobs, Pods: 2}, Direct: true},
		Phases: []Phase{{Duration: s.Duration, Groups: func(p Pods) []load.Group {
			return []load.Group{s.reporting(p.Quiet[:min(len(p.Quiet), s.Jobs)])}
		}}},
		Judge: judgeMemory,
	}
}

func judgeMemory(m Measures) result.Verdict {
	v := result.Verdict{Want: "≤ " + result.Mebibytes(wantResident) + " resident"}
	if ours := m.of(result.Milepost, ""); len(ours) > 0 {
		v.Got = fmt.Sprintf("%s, %s at the worst moment", result.Mebibytes(ours[0].Cost.Resident), result.Mebibytes(ours[0].Cost.PeakResident))
		v.Pass = ours[0].Cost.Resident <= wantResident && ours.mean(quietShare) == 1
	}
	return v
}
