// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/milepost-dev/milepost/e2e/bench/result"
	"github.com/milepost-dev/milepost/e2e/bench/scenario"
)

// describe lists a bed and what is measured on it.
func describe(b *bed) string {
	var tasks []string
	for _, t := range b.tasks {
		var servers []string
		for _, s := range t.servers {
			servers = append(servers, string(s))
		}
		tasks = append(tasks, t.scenario.Name+"="+strings.Join(servers, "+"))
	}
	return fmt.Sprintf("%s %d/%d/%d: %s", b.host, b.want.Jobs, b.want.Pods, b.want.CrowdPods, strings.Join(tasks, " "))
}

func TestBeds(t *testing.T) {
	everything := []result.Server{result.Echo, result.Milepost, result.Upstream, result.UpstreamLifted}
	tests := map[string]struct {
		servers   []result.Server
		scenarios []string
		want      []string
	}{
		"scenarios of one size share a bed, and the echo server stands beside ours": {
			servers: everything, scenarios: []string{"full-speed", "flood", "memory"},
			want: []string{
				"milepost 200/0/512: full-speed=echo+milepost+echo flood=echo+milepost",
				"upstream 200/0/0: full-speed=upstream+upstream-lifted",
				"milepost 10000/2/0: memory=milepost",
			},
		},
		"the echo server moves to upstream when ours is left out": {
			servers: []result.Server{result.Echo, result.Upstream}, scenarios: []string{"full-speed"},
			want: []string{"upstream 200/0/0: full-speed=echo+echo+upstream"},
		},
		"no bed is made for the echo server alone": {
			servers: []result.Server{result.Echo, result.Upstream}, scenarios: []string{"offered", "many-jobs"},
			want: []string{"upstream 200/0/0: offered=echo+upstream"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			chosen, err := scenario.Select(scenario.All(scenario.Full()), tc.scenarios)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, b := range beds(&Config{Servers: tc.servers}, chosen) {
				got = append(got, describe(b))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("beds (-want +got):\n%s", diff)
			}
		})
	}
}

func TestJudgeWithoutOurServerJudgesNothing(t *testing.T) {
	chosen, err := scenario.Select(scenario.All(scenario.Full()), []string{"memory"})
	if err != nil {
		t.Fatal(err)
	}
	got := judge(&chosen[0], []result.Measure{{Scenario: "memory", Server: result.Echo}})
	if got.Judged || got.Pass || got.Got != "" || got.Scenario != "memory" {
		t.Errorf("judge() = %+v, want a verdict that says nothing", got)
	}
	report := &result.Report{Verdicts: []result.Verdict{got}}
	if report.Missed() != 0 {
		t.Errorf("Missed() = %d, want 0", report.Missed())
	}
}

func TestValidate(t *testing.T) {
	log := func(string, ...any) {}
	tests := map[string]struct {
		config  Config
		wantErr bool
	}{
		"our server alone":        {config: Config{Bench: "b", Dir: "d", Log: log, Servers: []result.Server{result.Milepost}}},
		"upstream alone":          {config: Config{Bench: "b", Dir: "d", Log: log, Servers: []result.Server{result.UpstreamLifted}}},
		"the echo server alone":   {config: Config{Bench: "b", Dir: "d", Log: log, Servers: []result.Server{result.Echo}}, wantErr: true},
		"no folder to write into": {config: Config{Bench: "b", Log: log, Servers: []result.Server{result.Milepost}}, wantErr: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if err := tc.config.Validate(); (err != nil) != tc.wantErr {
				t.Errorf("Validate() = %v, want error %v", err, tc.wantErr)
			}
		})
	}
}
