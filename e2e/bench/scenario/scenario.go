// SPDX-License-Identifier: Apache-2.0

// Package scenario declares what is measured: the traffic of each scenario, the servers it is sent
// to, and which figures are good enough.
//
// It owns the acceptance of the status server's performance. It does not own how servers and
// traffic are started or how figures arise.
package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/milepost-dev/milepost/e2e/bench/fixture"
	"github.com/milepost-dev/milepost/e2e/bench/load"
	"github.com/milepost-dev/milepost/e2e/bench/result"
)

// Scenario is one row of the table of verdicts.
type Scenario struct {
	Name  string
	Title string
	// Servers are measured in this order. One that is named twice is measured twice, before and
	// after the others, so that a machine that slows down does not favour either side.
	Servers []result.Server
	// Bed is what must exist on the control plane.
	Bed Bed
	// Phases are sent to each server one after the other, the server restarted in between.
	Phases []Phase
	// Track tells whether the age of stored values is measured.
	Track bool
	// Judge compares the measures with what is wanted.
	Judge func(Measures) result.Verdict
}

// Bed is a control plane with objects. Scenarios whose beds differ in the size of the crowd alone
// share one.
type Bed struct {
	Size fixture.Size
	// Direct creates the objects as they are, without the controllers.
	Direct bool
}

// Phase is the traffic of one run.
type Phase struct {
	Name     string
	Warmup   time.Duration
	Duration time.Duration
	// Budget is the rate of API writes configured for the server, per second; 0 keeps its default.
	Budget int
	Groups func(Pods) []load.Group
}

// Pods are the senders of reports.
type Pods struct {
	Quiet []load.Target // one for each job
	Crowd []load.Target // all of one further job
}

// Measures are the runs of one scenario.
type Measures []result.Measure

// of returns the runs against a server in a phase.
func (m Measures) of(server result.Server, phase string) Measures {
	var found Measures
	for _, measure := range m {
		if measure.Server == server && measure.Phase == phase {
			found = append(found, measure)
		}
	}
	return found
}

// mean averages a figure over the runs; 0 when there are none.
func (m Measures) mean(figure func(*result.Measure) float64) float64 {
	if len(m) == 0 {
		return 0
	}
	sum := 0.0
	for i := range m {
		sum += figure(&m[i])
	}
	return sum / float64(len(m))
}

// compare prints a figure of every server but ours, for scenarios of one phase.
func (m Measures) compare(show func(Measures) string) map[result.Server]string {
	compared := map[result.Server]string{}
	for _, server := range []result.Server{result.Echo, result.Upstream, result.UpstreamLifted} {
		if runs := m.of(server, ""); len(runs) > 0 {
			compared[server] = show(runs)
		}
	}
	return compared
}

// Clients of a scenario, by the name of their group.
const (
	quietClients = "jobs"
	crowdClients = "crowd"
	floodClients = "flood"
)

func quietRate(m *result.Measure) float64 { g := m.Load.Group(quietClients); return g.Rate() }

func quietShare(m *result.Measure) float64 { g := m.Load.Group(quietClients); return g.Share() }

func quietP99(m *result.Measure) float64 { return m.Load.Group(quietClients).Latency.P99 }

// showP99 is the end of a cell; empty where nothing was accepted.
func showP99(runs Measures) string {
	if runs.mean(quietShare) == 0 {
		return ""
	}
	return fmt.Sprintf(", p99 %s ms", result.Millis(runs.mean(quietP99)))
}

// Select returns the scenarios with these names, all when there are none.
func Select(all []Scenario, names []string) ([]Scenario, error) {
	if len(names) == 0 {
		return all, nil
	}
	var chosen []Scenario
	for _, name := range names {
		at := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("unknown scenario %q, known are %s", name, strings.Join(Names(all), ", "))
		}
		chosen = append(chosen, all[at])
	}
	return chosen, nil
}

// Names lists the names of scenarios.
func Names(all []Scenario) []string {
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return names
}
