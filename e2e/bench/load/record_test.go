// SPDX-License-Identifier: Apache-2.0

package load

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestOutcomeMergesTallies(t *testing.T) {
	tallies := []*tally{newTally(), newTally(), newTally()}
	for ms := 1; ms <= 1000; ms++ {
		tallies[ms%3].add(&verdict{took: time.Duration(ms) * time.Millisecond, answers: []answer{{code: 200}}})
	}
	tallies[0].add(&verdict{took: time.Millisecond, answers: []answer{{code: 429}}})
	tallies[1].add(&verdict{took: 3 * time.Second, answers: []answer{{code: 503, retryAfter: time.Second}, {code: 200, warned: true}}, final: true})
	tallies[2].add(&verdict{took: 5 * time.Second, err: &failure{failedTimeout, errors.New("late")}})

	got := outcome("quiet", 10*time.Second, tallies)
	for what, pair := range map[string][2]float64{
		"p50": {got.Latency.P50, 501}, "p90": {got.Latency.P90, 901}, "p99": {got.Latency.P99, 991}, "max": {got.Latency.Max, 3000},
		"final p50": {got.Final.P50, 3000}, "refusal p50": {got.Refusal.P50, 1},
		"rate": {got.Rate(), 100.1}, "share": {got.Share(), 1001.0 / 1003},
	} {
		if math.Abs(pair[0]-pair[1]) > 0.002*pair[1] {
			t.Errorf("%s = %v, want %v", what, pair[0], pair[1])
		}
	}
	got.Latency, got.Refusal, got.Final = Latency{}, Latency{}, Latency{}
	want := GroupOutcome{
		Name: "quiet", Due: 1003, Accepted: 1001, Finals: 1, Retried: 1, Warned: 1, Seconds: 10,
		Codes: map[string]int64{"200": 1001, "429": 1, "503": 1}, Errors: map[string]int64{failedTimeout: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
}

func TestShareOfNothingIsZero(t *testing.T) {
	g := outcome("idle", time.Second, []*tally{newTally()})
	if g.Share() != 0 || g.Rate() != 0 {
		t.Errorf("share %v, rate %v, want 0 and 0", g.Share(), g.Rate())
	}
}
