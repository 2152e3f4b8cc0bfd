// SPDX-License-Identifier: Apache-2.0

package load

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestOpenSchedule(t *testing.T) {
	tests := map[string]struct {
		rate      float64
		total     time.Duration
		wantCount int
		wantLast  time.Duration
	}{
		"a whole rate fills the time":           {rate: 2000, total: 10 * time.Second, wantCount: 20000, wantLast: 9999500 * time.Microsecond},
		"a rate below one a second still sends": {rate: 0.5, total: 5 * time.Second, wantCount: 3, wantLast: 4 * time.Second},
		"an odd rate does not drift":            {rate: 3, total: 1000 * time.Second, wantCount: 3000, wantLast: 999666666666 * time.Nanosecond},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := slices.Collect(openSchedule(tc.rate, tc.total))
			if len(got) != tc.wantCount || !slices.IsSorted(got) {
				t.Fatalf("%d moments, sorted %v, want %d", len(got), slices.IsSorted(got), tc.wantCount)
			}
			if last := got[len(got)-1]; (last - tc.wantLast).Abs() > time.Microsecond {
				t.Errorf("last moment %v, want %v", last, tc.wantLast)
			}
		})
	}
}

func TestPeriodicSchedule(t *testing.T) {
	const total = 100 * time.Second
	tests := map[string]struct {
		group     Group
		wantMin   int // reports of one job
		wantMax   int
		wantFinal bool
	}{
		"without jitter the interval is exact": {
			group: Group{Interval: 5 * time.Second}, wantMin: 20, wantMax: 20,
		},
		"jitter keeps the mean rate": {
			group: Group{Interval: 5 * time.Second, Jitter: 0.2}, wantMin: 17, wantMax: 24,
		},
		"a job that ends within the run ends with a final report": {
			group: Group{Interval: 5 * time.Second, JobLength: total}, wantMin: 1, wantMax: 21, wantFinal: true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(50) {
				got := slices.Collect(periodicSchedule(rand.New(rand.NewPCG(seed, 0)), &tc.group, total))
				if len(got) < tc.wantMin || len(got) > tc.wantMax {
					t.Fatalf("%d reports, want %d to %d", len(got), tc.wantMin, tc.wantMax)
				}
				byTime := func(a, b due) int { return int(a.after - b.after) }
				if !slices.IsSortedFunc(got, byTime) || got[len(got)-1].after >= total {
					t.Fatalf("moments not in order or outside the run: %v", got)
				}
				for i, d := range got {
					if wantFinal := tc.wantFinal && i == len(got)-1; d.final != wantFinal {
						t.Fatalf("report %d of %d: final %v, want %v", i, len(got), d.final, wantFinal)
					}
				}
			}
		})
	}
}

func TestPeriodicScheduleOfALongJobHasNoFinalReport(t *testing.T) {
	group := &Group{Interval: time.Second, JobLength: 1000 * time.Hour}
	finals := 0
	for seed := range uint64(100) {
		for d := range periodicSchedule(rand.New(rand.NewPCG(seed, 0)), group, time.Minute) {
			if d.final {
				finals++
			}
		}
	}
	if finals != 0 {
		t.Errorf("%d final reports within a minute, want none", finals)
	}
}
