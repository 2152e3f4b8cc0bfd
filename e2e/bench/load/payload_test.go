// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAppendBody(t *testing.T) {
	tests := map[string]struct {
		report       report
		wantTime     string
		wantProgress float64
		wantETA      float64
	}{
		"the first report starts at 0 percent": {
			report:   report{at: time.Date(2026, 12, 1, 0, 44, 41, 197448999, time.UTC), step: 1, base: 70},
			wantTime: "2026-12-01T00:44:41.197448+00:00", wantProgress: 0, wantETA: 3599,
		},
		"a time elsewhere is written in UTC": {
			report:   report{at: time.Date(2026, 12, 1, 1, 0, 0, 0, time.FixedZone("CET", 3600)), step: 900},
			wantTime: "2026-12-01T00:00:00.000000+00:00", wantProgress: 45, wantETA: 2700,
		},
		"progress stays below 100 until the final report": {
			report:   report{at: time.Unix(0, 0), step: 4_000_000_000, base: 1},
			wantTime: "1970-01-01T00:00:00.000000+00:00", wantProgress: 99, wantETA: 1,
		},
		"the final report says 100 percent and nothing left": {
			report:   report{at: time.Unix(0, 0), step: 7, final: true},
			wantTime: "1970-01-01T00:00:00.000000+00:00", wantProgress: 100, wantETA: 0,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got struct {
				TrainerStatus struct {
					LastUpdatedTime           string
					ProgressPercentage        float64
					EstimatedRemainingSeconds float64
					Metrics                   []struct{ Name, Value string }
				}
			}
			if err := json.Unmarshal(appendBody(nil, tc.report), &got); err != nil {
				t.Fatal(err)
			}
			status := got.TrainerStatus
			if status.LastUpdatedTime != tc.wantTime || status.ProgressPercentage != tc.wantProgress ||
				status.EstimatedRemainingSeconds != tc.wantETA {
				t.Errorf("appendBody() = %+v, want time %s, progress %v, ETA %v", status, tc.wantTime, tc.wantProgress, tc.wantETA)
			}
			var names []string
			values := map[string]string{}
			for _, m := range status.Metrics {
				names = append(names, m.Name)
				values[m.Name] = m.Value
				if m.Value == "" || len(m.Value) > 64 {
					t.Errorf("metric %s has the value %q, want 1 to 64 characters", m.Name, m.Value)
				}
			}
			wantNames := []string{"loss", "grad_norm", "learning_rate", "current_step", "total_steps", "current_epoch"}
			if diff := cmp.Diff(wantNames, names); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
			if want := strconv.Itoa(int(tc.report.base + tc.report.step)); values[SequenceMetric] != want {
				t.Errorf("metric %s = %s, want %s", SequenceMetric, values[SequenceMetric], want)
			}
		})
	}
}

func TestAppendRequest(t *testing.T) {
	target := Target{Job: "job-1", Path: "/apis/x/status", Token: "abc.def.ghi"}
	tests := map[string]struct {
		address   string
		reconnect bool
		wantHost  string
		wantAgent string
		wantClose bool
	}{
		"a kept connection looks like requests":     {address: "127.0.0.1:10443", wantHost: "127.0.0.1:10443", wantAgent: "python-requests/2.32.5"},
		"a connection per report looks like urllib": {address: "127.0.0.1:10443", reconnect: true, wantHost: "127.0.0.1:10443", wantAgent: "Python-urllib/3.13", wantClose: true},
		"the default port is left out of Host":      {address: "example.test:443", wantHost: "example.test", wantAgent: "python-requests/2.32.5"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			body := []byte(`{"trainerStatus": {}}`)
			raw := appendRequest(nil, requestHead(tc.address, target, tc.reconnect), body)
			got, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
			if err != nil {
				t.Fatal(err)
			}
			sent, err := io.ReadAll(got.Body)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(sent, body) || got.ContentLength != int64(len(body)) {
				t.Errorf("body = %q of length %d, want %q", sent, got.ContentLength, body)
			}
			if got.Method != http.MethodPost || got.URL.Path != target.Path || got.Host != tc.wantHost {
				t.Errorf("request = %s %s at %s, want POST %s at %s", got.Method, got.URL.Path, got.Host, target.Path, tc.wantHost)
			}
			if got.UserAgent() != tc.wantAgent || got.Close != tc.wantClose {
				t.Errorf("agent %q, close %v, want %q, %v", got.UserAgent(), got.Close, tc.wantAgent, tc.wantClose)
			}
			if auth := got.Header.Get("Authorization"); auth != "Bearer "+target.Token {
				t.Errorf("Authorization = %q", auth)
			}
		})
	}
}
