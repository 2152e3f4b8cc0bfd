// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"

	"github.com/milepost-dev/milepost/e2e/bench/load"
	"github.com/milepost-dev/milepost/e2e/bench/result"
)

const (
	wantEchoShare    = 0.30 // of the echo server's rate, over kept connections
	wantConnectShare = 0.70 // of the echo server's rate, with a new connection for each report
	wantOfferedP99   = 100  // milliseconds
)

// fullSpeed asks how many reports are taken when clients never pause.
func fullSpeed(s Size) Scenario {
	return Scenario{
		Name:    "full-speed",
		Title:   fmt.Sprintf("%d kept connections, %d jobs, clients at full speed", s.Connections, s.Jobs),
		Servers: []result.Server{result.Echo, result.Milepost, result.Echo, result.Upstream, result.UpstreamLifted},
		Bed:     s.small(),
		Track:   true,
		Phases:  []Phase{closedLoop(s, false)},
		Judge:   func(m Measures) result.Verdict { return judgeRate(m, wantEchoShare) },
	}
}

// newConnections asks the same of clients that connect anew for each report.
func newConnections(s Size) Scenario {
	return Scenario{
		Name:    "new-connections",
		Title:   fmt.Sprintf("a new TLS connection for each report, %d at a time", s.Connections),
		Servers: []result.Server{result.Echo, result.Milepost, result.Echo, result.Upstream, result.UpstreamLifted},
		Bed:     s.small(),
		Phases:  []Phase{closedLoop(s, true)},
		Judge:   func(m Measures) result.Verdict { return judgeRate(m, wantConnectShare) },
	}
}

func closedLoop(s Size, reconnect bool) Phase {
	return Phase{Warmup: s.Warmup, Duration: s.Duration, Groups: func(p Pods) []load.Group {
		return []load.Group{{
			Name: quietClients, Mode: load.Closed, Targets: p.Quiet, Connections: s.Connections, Reconnect: reconnect,
		}}
	}}
}

// judgeRate compares accepted reports per second with those of the echo server.
func judgeRate(m Measures, want float64) result.Verdict {
	printRate := func(runs Measures) string { return result.Count(runs.mean(quietRate)) + "/s" }
	ours, echo := m.of(result.Milepost, ""), m.of(result.Echo, "")
	share := 0.0
	if rate := echo.mean(quietRate); rate > 0 {
		share = ours.mean(quietRate) / rate
	}
	return result.Verdict{
		Want:     fmt.Sprintf("≥ %.0f %% of the echo server", want*100),
		Got:      fmt.Sprintf("%s accepted, %.0f %% of the echo server", printRate(ours), share*100),
		Pass:     share >= want,
		Compared: m.compare(printRate),
	}
}

// offered asks how a fixed rate is answered.
func offered(s Size) Scenario {
	return Scenario{
		Name:    "offered",
		Title:   fmt.Sprintf("%s reports/s offered, %d jobs", result.Count(s.Rate), s.Jobs),
		Servers: []result.Server{result.Echo, result.Milepost, result.Upstream, result.UpstreamLifted},
		Bed:     s.small(),
		Track:   true,
		Phases: []Phase{{Warmup: s.Warmup, Duration: s.Duration, Groups: func(p Pods) []load.Group {
			return []load.Group{{Name: quietClients, Mode: load.Open, Targets: p.Quiet, Connections: len(p.Quiet), Rate: s.Rate}}
		}}},
		Judge: judgeOffered,
	}
}

func judgeOffered(m Measures) result.Verdict {
	show := func(runs Measures) string {
		return result.Percent(runs.mean(quietShare)) + showP99(runs)
	}
	ours := m.of(result.Milepost, "")
	return result.Verdict{
		Want:     fmt.Sprintf("100 %% accepted, p99 ≤ %d ms", wantOfferedP99),
		Got:      show(ours),
		Pass:     ours.mean(quietShare) == 1 && ours.mean(quietP99) <= wantOfferedP99,
		Compared: m.compare(show),
	}
}
