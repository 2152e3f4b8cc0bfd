// SPDX-License-Identifier: Apache-2.0

package statuswriter

import (
	"testing"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
)

// start is when the clock of a synctest bubble begins.
var start = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

func TestBudgetIsNeverExceededAndNeverWasted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		qps := rapid.Float64Range(0.5, 200).Draw(t, "qps")
		burst := rapid.IntRange(1, 50).Draw(t, "burst")
		fake := clocktesting.NewFakePassiveClock(start)
		b, err := NewBudget(qps, burst, fake)
		if err != nil {
			t.Fatal(err)
		}
		var spent []time.Time
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			wait := b.Spend()
			if wait == 0 {
				spent = append(spent, fake.Now())
				continue
			}
			// A little less than told must not do; exactly as told must.
			if early := wait - time.Microsecond; early > 0 && rapid.Bool().Draw(t, "early") {
				fake.SetTime(fake.Now().Add(early))
				if b.Spend() == 0 {
					t.Fatalf("spent %v before the budget allowed", wait-early)
				}
				wait -= early
			}
			fake.SetTime(fake.Now().Add(wait))
			if left := b.Spend(); left > time.Microsecond {
				t.Fatalf("told to wait %v, then %v more", wait, left)
			} else if left == 0 {
				spent = append(spent, fake.Now())
			}
		}
		for i := range spent {
			for j := i; j < len(spent); j++ {
				allowed := float64(burst) + qps*spent[j].Sub(spent[i]).Seconds()
				if calls := float64(j - i + 1); calls > allowed+1e-6 {
					t.Fatalf("%v calls in %v, allowed are %v", calls, spent[j].Sub(spent[i]), allowed)
				}
			}
		}
	})
}

func TestBudgetExpectsWhatItThenGives(t *testing.T) {
	fake := clocktesting.NewFakePassiveClock(start)
	b, err := NewBudget(10, 2, fake)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[int]time.Duration{0: 0, 1: 0, 2: 100 * time.Millisecond, 11: time.Second}
	for before, want := range cases {
		if got := b.Expect(before); got != want {
			t.Errorf("with %d before: %v, want %v", before, got, want)
		}
	}
	b.Hold(time.Minute)
	if got := b.Expect(0); got != time.Minute {
		t.Errorf("while held: %v, want 1m", got)
	}
	if got := b.Spend(); got != time.Minute {
		t.Errorf("spending while held: %v, want 1m", got)
	}
	b.Release()
	if got := b.Spend(); got != 0 {
		t.Errorf("spending after the hold: %v, want 0", got)
	}
}

func TestBudgetRefusesNumbersThatAreNone(t *testing.T) {
	cases := map[string]struct {
		qps   float64
		burst int
	}{
		"no rate":       {qps: 0, burst: 1},
		"negative rate": {qps: -1, burst: 1},
		"no burst":      {qps: 1, burst: 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := NewBudget(tc.qps, tc.burst, clock.RealClock{}); err == nil {
				t.Error("no error")
			}
		})
	}
}
