// SPDX-License-Identifier: Apache-2.0

package staleness

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/milepost-dev/milepost/e2e/bench/load"
)

var epoch = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return epoch.Add(time.Duration(seconds * float64(time.Second))) }

func TestJoin(t *testing.T) {
	tests := map[string]struct {
		accepted []load.Accepted
		seen     []Sighting
		want     Report
	}{
		"a value is as old as the time until it is seen": {
			accepted: []load.Accepted{{Job: "a", Sequence: 1, At: at(0)}},
			seen:     []Sighting{{Job: "a", Sequence: 1, At: at(1.5)}},
			want:     Report{All: Ages{Reports: 1, P50: 1.5, P99: 1.5, Max: 1.5}, Stored: 1, Jobs: 1},
		},
		"a newer report of the job stands for the older ones": {
			accepted: []load.Accepted{{Job: "a", Sequence: 1, At: at(0)}, {Job: "a", Sequence: 2, At: at(5)}},
			seen:     []Sighting{{Job: "a", Sequence: 2, At: at(6)}},
			want:     Report{All: Ages{Reports: 2, P50: 6, P99: 6, Max: 6}, Stored: 1, Jobs: 1},
		},
		"a value seen before the answer arrived is not old": {
			accepted: []load.Accepted{{Job: "a", Sequence: 1, At: at(2)}},
			seen:     []Sighting{{Job: "a", Sequence: 1, At: at(1)}},
			want:     Report{All: Ages{Reports: 1}, Stored: 1, Jobs: 1},
		},
		"what an earlier run left behind stands for nothing": {
			accepted: []load.Accepted{{Job: "a", Sequence: 101, At: at(0)}},
			seen:     []Sighting{{Job: "a", Sequence: 50, At: at(0)}, {Job: "a", At: at(0)}, {Job: "a", Sequence: 101, At: at(3)}},
			want:     Report{All: Ages{Reports: 1, P50: 3, P99: 3, Max: 3}, Stored: 2, Jobs: 1},
		},
		"another job's value stands for nothing": {
			accepted: []load.Accepted{{Job: "a", Sequence: 1, At: at(0)}},
			seen:     []Sighting{{Job: "b", Sequence: 9, At: at(1)}},
			want:     Report{All: Ages{Reports: 1, Never: 1}, Jobs: 1},
		},
		"only a final value stands for a final report": {
			accepted: []load.Accepted{{Job: "a", Sequence: 7, Final: true, At: at(0)}},
			seen:     []Sighting{{Job: "a", Sequence: 8, At: at(1)}, {Job: "a", Sequence: 7, Final: true, At: at(2)}},
			want: Report{
				All:    Ages{Reports: 1, P50: 2, P99: 2, Max: 2},
				Finals: Ages{Reports: 1, P50: 2, P99: 2, Max: 2}, Stored: 2, Jobs: 1,
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Join(tc.accepted, tc.seen)); diff != "" {
				t.Errorf("Join() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestJoinFindsTheWorstOfMany(t *testing.T) {
	var accepted []load.Accepted
	var seen []Sighting
	for i := range 1000 {
		accepted = append(accepted, load.Accepted{Job: "a", Sequence: uint32(i + 1), At: at(float64(i))})
		seen = append(seen, Sighting{Job: "a", Sequence: uint32(i + 1), At: at(float64(i) + float64(i)/1000)})
	}
	want := Report{All: Ages{Reports: 1000, P50: 0.5, P99: 0.99, Max: 0.999}, Stored: 1000, Jobs: 1}
	if diff := cmp.Diff(want, Join(accepted, seen)); diff != "" {
		t.Errorf("Join() (-want +got):\n%s", diff)
	}
}

func TestStored(t *testing.T) {
	status := func(progress int64, name string, value any) map[string]any {
		return map[string]any{"status": map[string]any{"trainerStatus": map[string]any{
			"progressPercentage": progress,
			"metrics": []any{
				map[string]any{"name": "loss", "value": "9"},
				map[string]any{"name": name, "value": value},
			},
		}}}
	}
	tests := map[string]struct {
		object       map[string]any
		wantSequence uint32
		wantFinal    bool
	}{
		"the sequence is read from its metric":       {object: status(42, load.SequenceMetric, "17"), wantSequence: 17},
		"progress 100 makes it final":                {object: status(100, load.SequenceMetric, "18"), wantSequence: 18, wantFinal: true},
		"a status without the metric has none":       {object: status(100, "other", "17")},
		"a number that is none is as good as absent": {object: status(100, load.SequenceMetric, "NaN")},
		"a job without status has none":              {object: map[string]any{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			sequence, final := stored(&unstructured.Unstructured{Object: tc.object})
			if sequence != tc.wantSequence || final != tc.wantFinal {
				t.Errorf("stored() = %d, %v, want %d, %v", sequence, final, tc.wantSequence, tc.wantFinal)
			}
		})
	}
}
