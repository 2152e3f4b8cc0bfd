// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/milepost-dev/milepost/e2e/bench/load"
	"github.com/milepost-dev/milepost/e2e/bench/result"
	"github.com/milepost-dev/milepost/e2e/bench/staleness"
)

// run is a measure with the figures that judges look at.
type run struct {
	server          result.Server
	phase           string
	due, accepted   int64
	p99, finalMax   float64 // milliseconds
	age, finalAge   float64 // seconds
	finals, never   int
	resident        int64
	writes          float64 // in 10 s
	withoutTracking bool
}

func (r run) measure() result.Measure {
	m := result.Measure{
		Server: r.server, Phase: r.phase, Cost: result.Cost{Resident: r.resident},
		Writes: result.Writes{Status: cmp.Or(r.writes, 1000), Seconds: 10},
		Load: &load.Outcome{Groups: []load.GroupOutcome{{
			Name: quietClients, Due: r.due, Accepted: r.accepted, Seconds: 10,
			Latency: load.Latency{P99: r.p99}, Final: load.Latency{Max: r.finalMax},
		}}},
	}
	if !r.withoutTracking {
		m.Staleness = &staleness.Report{
			All:    staleness.Ages{Reports: int(r.accepted), Max: r.age, Never: r.never},
			Finals: staleness.Ages{Reports: r.finals, Max: r.finalAge},
		}
	}
	return m
}

func TestJudges(t *testing.T) {
	tests := map[string]struct {
		scenario string
		runs     []run
		want     bool
		wantGot  string
	}{
		"a third of the echo server's rate is enough": {
			scenario: "full-speed",
			runs:     []run{{server: result.Echo, accepted: 10_000}, {server: result.Milepost, accepted: 3_600}, {server: result.Echo, accepted: 14_000}},
			want:     true, wantGot: "360/s accepted, 30 % of the echo server",
		},
		"a quarter is not": {
			scenario: "full-speed",
			runs:     []run{{server: result.Echo, accepted: 10_000}, {server: result.Milepost, accepted: 2_500}},
			wantGot:  "250/s accepted, 25 % of the echo server",
		},
		"without an echo server there is nothing to reach": {
			scenario: "full-speed",
			runs:     []run{{server: result.Milepost, accepted: 10_000}},
			wantGot:  "1,000/s accepted, 0 % of the echo server",
		},
		"new connections must reach 70 percent": {
			scenario: "new-connections",
			runs:     []run{{server: result.Echo, accepted: 10_000}, {server: result.Milepost, accepted: 6_900}},
			wantGot:  "690/s accepted, 69 % of the echo server",
		},
		"all accepted in time": {
			scenario: "offered", want: true,
			runs:    []run{{server: result.Milepost, due: 100, accepted: 100, p99: 100}},
			wantGot: "100 %, p99 100 ms",
		},
		"one report of an offered rate lost": {
			scenario: "offered",
			runs:     []run{{server: result.Milepost, due: 100_000, accepted: 99_999, p99: 1}},
			wantGot:  "> 99.99 %, p99 1.00 ms",
		},
		"an offered rate answered too late": {
			scenario: "offered",
			runs:     []run{{server: result.Milepost, due: 100, accepted: 100, p99: 101}},
			wantGot:  "100 %, p99 101 ms",
		},
		"steady reports stored in time": {
			scenario: "steady", want: true,
			runs:    []run{{server: result.Milepost, due: 100, accepted: 100, p99: 9, age: 2}},
			wantGot: "100 % accepted, 2.00 s old at most, p99 9.00 ms",
		},
		"a steady report stored too late": {
			scenario: "steady",
			runs:     []run{{server: result.Milepost, due: 100, accepted: 100, p99: 9, age: 2.1}},
			wantGot:  "100 % accepted, 2.10 s old at most, p99 9.00 ms",
		},
		"a steady report that was never stored": {
			scenario: "steady",
			runs:     []run{{server: result.Milepost, due: 100, accepted: 100, p99: 9, age: 1, never: 1}},
			wantGot:  "100 % accepted, 1.00 s old at most, p99 9.00 ms",
		},
		"many jobs within the budget": {
			scenario: "many-jobs", want: true,
			runs:    []run{{server: result.Milepost, due: 9, accepted: 9, p99: 5, age: 55, finals: 3, finalAge: 0, finalMax: 900}},
			wantGot: "100 % accepted, 55.0 s old at most, 3 finals stored within 0.00 s and answered within 0.90 s, p99 5.00 ms, 100.0 writes/s",
		},
		"a final report answered too late": {
			scenario: "many-jobs",
			runs:     []run{{server: result.Milepost, due: 9, accepted: 9, p99: 5, age: 55, finals: 3, finalMax: 5001}},
			wantGot:  "100 % accepted, 55.0 s old at most, 3 finals stored within 0.00 s and answered within 5.00 s, p99 5.00 ms, 100.0 writes/s",
		},
		"more writes than the budget and its burst allow": {
			scenario: "many-jobs",
			runs:     []run{{server: result.Milepost, due: 9, accepted: 9, p99: 5, age: 55, finals: 3, finalMax: 900, writes: 1201}},
			wantGot:  "100 % accepted, 55.0 s old at most, 3 finals stored within 0.00 s and answered within 0.90 s, p99 5.00 ms, 120.1 writes/s",
		},
		"many jobs without any final report prove nothing": {
			scenario: "many-jobs",
			runs:     []run{{server: result.Milepost, due: 9, accepted: 9, p99: 5, age: 55}},
			wantGot:  "100 % accepted, 55.0 s old at most, 0 finals stored within 0.00 s and answered within 0.00 s, p99 5.00 ms, 100.0 writes/s",
		},
		"others do not notice the flood": {
			scenario: "flood", want: true,
			runs: []run{
				{server: result.Milepost, phase: alone, due: 10, accepted: 10, p99: 10},
				{server: result.Milepost, phase: flooded, due: 10, accepted: 10, p99: 23},
				{server: result.Milepost, phase: alone, due: 10, accepted: 10, p99: 14},
			},
			wantGot: "100 % accepted, p99 23.0 ms against 12.0 ms alone, 1.92 times",
		},
		"others become twice as slow under the flood": {
			scenario: "flood",
			runs: []run{
				{server: result.Milepost, phase: alone, due: 10, accepted: 10, p99: 10},
				{server: result.Milepost, phase: flooded, due: 10, accepted: 10, p99: 20},
			},
			wantGot: "100 % accepted, p99 20.0 ms against 10.0 ms alone, 2.00 times",
		},
		"others lose a report in the crowd": {
			scenario: "crowd",
			runs: []run{
				{server: result.Milepost, phase: alone, due: 10, accepted: 10, p99: 10},
				{server: result.Milepost, phase: crowded, due: 1000, accepted: 999, p99: 10},
			},
			wantGot: "99.90 % accepted, p99 10.0 ms against 10.0 ms alone, 1.00 times",
		},
		"memory within its bounds": {
			scenario: "memory", want: true,
			runs:    []run{{server: result.Milepost, due: 1, accepted: 1, resident: 200 << 20, withoutTracking: true}},
			wantGot: "200 MiB, 0 MiB at the worst moment",
		},
		"memory out of its bounds": {
			scenario: "memory",
			runs:     []run{{server: result.Milepost, due: 1, accepted: 1, resident: 201 << 20, withoutTracking: true}},
			wantGot:  "201 MiB, 0 MiB at the worst moment",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			chosen, err := Select(All(Full()), []string{tc.scenario})
			if err != nil {
				t.Fatal(err)
			}
			var measures Measures
			for _, r := range tc.runs {
				measures = append(measures, r.measure())
			}
			got := chosen[0].Judge(measures)
			if got.Pass != tc.want || got.Got != tc.wantGot {
				t.Errorf("Judge() = %v, %q, want %v, %q", got.Pass, got.Got, tc.want, tc.wantGot)
			}
		})
	}
}

func TestNothingMeasuredPassesNowhere(t *testing.T) {
	for _, s := range All(Full()) {
		if v := s.Judge(nil); v.Pass {
			t.Errorf("%s passes without a measure", s.Name)
		}
	}
}

func TestEveryScenarioMakesValidPlans(t *testing.T) {
	for size, all := range map[string][]Scenario{"full": All(Full()), "quick": All(Quick())} {
		for _, s := range all {
			pods := Pods{Quiet: make([]load.Target, s.Bed.Size.Jobs), Crowd: make([]load.Target, s.Bed.Size.CrowdPods)}
			for _, phase := range s.Phases {
				plan := &load.Plan{Address: "127.0.0.1:1", Duration: phase.Duration, Timeout: 1, Groups: phase.Groups(pods)}
				if err := plan.Validate(); err != nil {
					t.Errorf("%s, %s, phase %q: %v", size, s.Name, phase.Name, err)
				}
			}
		}
	}
}

func TestSelect(t *testing.T) {
	tests := map[string]struct {
		names   []string
		want    []string
		wantErr string
	}{
		"no names mean all":                    {want: Names(All(Quick()))},
		"names are taken in their order":       {names: []string{"flood", "steady"}, want: []string{"flood", "steady"}},
		"an unknown name lists the known ones": {names: []string{"foo"}, wantErr: "known are full-speed, offered"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Select(All(Quick()), tc.names)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("Select() error = %v, want %q", err, tc.wantErr)
				}
				return
			}
			if err != nil || !slices.Equal(Names(got), tc.want) {
				t.Errorf("Select() = %v, %v, want %v", Names(got), err, tc.want)
			}
		})
	}
}
