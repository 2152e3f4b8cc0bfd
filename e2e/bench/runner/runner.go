// SPDX-License-Identifier: Apache-2.0

// Package runner carries scenarios out: it makes the control planes they need, starts one server
// after the other, sends the traffic and collects the figures.
//
// It owns the order of events and that nothing is left running. It does not own what is measured or
// what is good enough.
package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/milepost-dev/milepost/e2e/bench/build"
	"github.com/milepost-dev/milepost/e2e/bench/controlplane"
	"github.com/milepost-dev/milepost/e2e/bench/milepost"
	"github.com/milepost-dev/milepost/e2e/bench/result"
	"github.com/milepost-dev/milepost/e2e/bench/scenario"
)

// Config says what to run with.
type Config struct {
	Bench    string              // this program, which is also the generator and the echo server
	Dir      string              // private folder for everything that is written
	Plane    controlplane.Config // its Dir is set for each control plane
	Milepost milepost.Config
	Upstream build.UpstreamManager
	Servers  []result.Server // that are measured; scenarios name more
	Log      func(format string, args ...any)
}

// Validate names what is missing.
func (c *Config) Validate() error {
	switch {
	case c.Bench == "", c.Dir == "", c.Log == nil:
		return errors.New("program, folder and log are needed")
	case !c.has(result.Milepost) && !c.hasUpstream():
		return errors.New("the echo server alone cannot be measured: its clients' tokens belong to the jobs of another server")
	}
	return nil
}

func (c *Config) has(server result.Server) bool { return slices.Contains(c.Servers, server) }

func (c *Config) hasUpstream() bool { return c.has(result.Upstream) || c.has(result.UpstreamLifted) }

// Run measures the scenarios and returns what was found. A run that fails is listed as skipped; the
// error is that of ctx or of something without which nothing works.
func Run(ctx context.Context, config Config, scenarios []scenario.Scenario) (*result.Report, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	report := &result.Report{}
	for _, bed := range beds(&config, scenarios) {
		if err := bed.run(ctx, report); err != nil {
			return report, err
		}
	}
	for i := range scenarios {
		report.Verdicts = append(report.Verdicts, judge(&scenarios[i], report.Measures))
	}
	return report, nil
}

// judge hands a scenario its own measures.
func judge(s *scenario.Scenario, measures []result.Measure) result.Verdict {
	var own scenario.Measures
	judged := false
	for _, m := range measures {
		if m.Scenario == s.Name {
			own = append(own, m)
			judged = judged || m.Server == result.Milepost
		}
	}
	v := s.Judge(own)
	v.Scenario, v.Title, v.Judged = s.Name, s.Title, judged
	if !judged {
		v.Got = ""
	}
	return v
}

// host is the manager whose controllers make the objects of a bed.
type host string

const (
	hostMilepost host = "milepost"
	hostUpstream host = "upstream"
)

// hostOf tells beside whose objects a server is measured.
func (c *Config) hostOf(server result.Server) host {
	switch {
	case server == result.Milepost:
		return hostMilepost
	case server == result.Echo && c.has(result.Milepost):
		return hostMilepost
	}
	return hostUpstream
}

// beds groups the runs of all scenarios by the control plane they can share, in the order in which
// they come up.
func beds(config *Config, scenarios []scenario.Scenario) []*bed {
	var all []*bed
	for i := range scenarios {
		s := &scenarios[i]
		for _, server := range s.Servers {
			if !config.has(server) {
				continue
			}
			b := find(&all, config, config.hostOf(server), s)
			b.want.CrowdPods = max(b.want.CrowdPods, s.Bed.Size.CrowdPods)
			b.add(s, server)
		}
	}
	return slices.DeleteFunc(all, func(b *bed) bool { return !b.worthwhile() })
}

func find(all *[]*bed, config *Config, h host, s *scenario.Scenario) *bed {
	for _, b := range *all {
		if b.host == h && b.direct == s.Bed.Direct && b.want.Jobs == s.Bed.Size.Jobs && b.want.Pods == s.Bed.Size.Pods {
			return b
		}
	}
	b := &bed{config: config, host: h, direct: s.Bed.Direct, want: s.Bed.Size}
	*all = append(*all, b)
	return b
}

// add notes that the server is to be measured with the scenario.
func (b *bed) add(s *scenario.Scenario, server result.Server) {
	if n := len(b.tasks); n > 0 && b.tasks[n-1].scenario == s {
		b.tasks[n-1].servers = append(b.tasks[n-1].servers, server)
		return
	}
	b.tasks = append(b.tasks, task{scenario: s, servers: []result.Server{server}})
}

// worthwhile drops beds in which the yardstick would be measured without anything to compare.
func (b *bed) worthwhile() bool {
	return slices.ContainsFunc(b.tasks, func(t task) bool {
		return slices.ContainsFunc(t.servers, func(s result.Server) bool { return s != result.Echo })
	})
}

// task is a scenario and the servers it is measured with in one bed.
type task struct {
	scenario *scenario.Scenario
	servers  []result.Server
}

func (b *bed) String() string {
	return fmt.Sprintf("%d TrainJobs and %d pods of %s", b.want.Jobs, b.want.Total(), b.host)
}
