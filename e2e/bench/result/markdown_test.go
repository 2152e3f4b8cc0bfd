// SPDX-License-Identifier: Apache-2.0

package result

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/milepost-dev/milepost/e2e/bench/load"
	"github.com/milepost-dev/milepost/e2e/bench/staleness"
)

func sample() *Report {
	return &Report{
		Conditions: Conditions{
			Date: time.Date(2026, 12, 1, 2, 3, 4, 0, time.FixedZone("CET", 3600)), CPU: "Test CPU", Cores: 2,
			Memory: 8 << 30, Kernel: "6.1", Go: "go1.26.8", Commit: "abc1234", Duration: 20, Load: 0.5,
			Versions: map[string]string{"kube-apiserver": "v1.37.2", "etcd": "v3.7.0"},
		},
		Verdicts: []Verdict{
			{
				Scenario: "full-speed", Title: "64 connections", Want: "≥ 30 % of echo", Got: "9,000/s, 41 %", Pass: true, Judged: true,
				Compared: map[Server]string{Echo: "22,000/s", UpstreamLifted: "305/s"},
			},
			{Scenario: "memory", Title: "10,000 jobs", Want: "≤ 200 MiB", Got: "230 MiB", Judged: true},
			{Scenario: "steady", Title: "200 jobs", Want: "all", Compared: map[Server]string{Echo: "all"}},
		},
		Measures: []Measure{{
			Scenario: "steady", Server: Milepost, Phase: "with flood",
			Load: &load.Outcome{Seconds: 20, Groups: []load.GroupOutcome{{
				Name: "quiet", Due: 800, Accepted: 799, Seconds: 20, Retried: 2,
				Codes: map[string]int64{"200": 799, "503": 2}, Errors: map[string]int64{"timeout": 1},
				Latency: load.Latency{P50: 8.2, P90: 11, P99: 20.4, P999: 120, Max: 130},
			}}},
			Staleness: &staleness.Report{
				All: staleness.Ages{Reports: 799, P99: 0.3, Max: 1.25}, Finals: staleness.Ages{Reports: 7, Max: 0.02, Never: 1},
			},
			Cost:   Cost{Server: 0.2, Generator: 0.1, APIServer: 0.5, Etcd: 0.3, Others: 0.05, Resident: 60 << 20},
			Writes: Writes{Status: 780, Seconds: 20},
		}},
		Skipped: []string{"upstream: user namespaces are not allowed"},
	}
}

func TestWriteMarkdown(t *testing.T) {
	var out bytes.Buffer
	if err := sample().WriteMarkdown(&out); err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]string{
		"date in UTC":  "- Date: 2026-12-01 01:03 UTC\n",
		"machine":      "- Machine: 2 cores of Test CPU, 8 GiB memory, Linux 6.1, load average 0.50 at the start\n",
		"versions":     "- Versions: go1.26.8, etcd v3.7.0, kube-apiserver v1.37.2\n",
		"passed row":   "| `full-speed` 64 connections | PASS | ≥ 30 % of echo | 9,000/s, 41 % | 22,000/s | – | 305/s |\n",
		"missed row":   "| `memory` 10,000 jobs | MISS | ≤ 200 MiB | 230 MiB | – | – | – |\n",
		"other row":    "| `steady` 200 jobs | – | all | – | all | – | – |\n",
		"run":          "| steady | milepost, with flood | quiet | 800 | 99.88 % | 40 | 8.20 | 11.0 | 20.4 | 120 | 130 | 0.30 / 1.25 s | 0.02 s of 7, 1 never | 39.0 | 0.20, 0.10, 0.50, 0.30, 0.05 | 60 MiB | 503: 2, timeout: 1, sent again: 2 |\n",
		"what is left": "- Left out: upstream: user namespaces are not allowed\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: no line %q in\n%s", what, want, out.String())
		}
	}
	if strings.Contains(out.String(), "smoke") {
		t.Error("a full run is called a smoke run")
	}
}

func TestNothingAcceptedHasNoLatency(t *testing.T) {
	got := (&Measure{Server: Upstream}).cells(load.GroupOutcome{Due: 5, Seconds: 1, Errors: map[string]int64{"timeout": 5}})
	want := []string{"5", "0.0 %", "0", "–", "–", "–", "–", "–"}
	if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
}

func TestTablesHaveAsManyCellsAsTheirHeads(t *testing.T) {
	var out bytes.Buffer
	if err := sample().WriteMarkdown(&out); err != nil {
		t.Fatal(err)
	}
	width := 0
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, "|") {
			width = 0
			continue
		}
		if got := strings.Count(line, "|"); width != 0 && got != width {
			t.Errorf("%d bars where the head has %d: %s", got, width, line)
		}
		width = strings.Count(line, "|")
	}
}

func TestWriteJSONReadsBack(t *testing.T) {
	var out bytes.Buffer
	if err := sample().WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	got := &Report{}
	if err := json.Unmarshal(out.Bytes(), got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), got); diff != "" {
		t.Errorf("report (-written +read):\n%s", diff)
	}
	if got.Missed() != 1 {
		t.Errorf("Missed() = %d, want 1", got.Missed())
	}
}
