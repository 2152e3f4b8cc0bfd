// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"
)

func shortRun(t *testing.T, epochs int, report func(report)) *trainer {
	t.Helper()
	examples, err := loadDigits()
	if err != nil {
		t.Fatal(err)
	}
	s := settings{epochs: epochs, batch: 32, hidden: []int{32}, seed: 1, logEvery: 1}
	return newTrainer(s, examples, io.Discard, report)
}

func TestTrainingReadsMostDigitsAfterAFewEpochs(t *testing.T) {
	var reports []report
	got, err := shortRun(t, 12, func(r report) { reports = append(reports, r) }).run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.accuracy < 0.85 || got.loss > 0.8 {
		t.Errorf("accuracy %.3f and loss %.3f, want at least 0.85 and at most 0.8", got.accuracy, got.loss)
	}

	first, last := reports[0], reports[len(reports)-1]
	if *first.ProgressPercentage != 0 || first.EstimatedRemainingSeconds != nil {
		t.Errorf("first report = %+v, want 0 %% and an unknown time", first)
	}
	if *last.ProgressPercentage != 100 || *last.EstimatedRemainingSeconds != 0 {
		t.Errorf("last report has %d %% and %d s left, want 100 and 0", *last.ProgressPercentage, *last.EstimatedRemainingSeconds)
	}
	for i := 1; i < len(reports); i++ {
		if *reports[i].ProgressPercentage < *reports[i-1].ProgressPercentage {
			t.Fatalf("progress fell from %d to %d", *reports[i-1].ProgressPercentage, *reports[i].ProgressPercentage)
		}
		if i < len(reports)-1 && *reports[i].ProgressPercentage == 100 {
			t.Fatalf("report %d of %d says 100 %%", i, len(reports))
		}
	}
}

func TestTheSameSeedGivesTheSameResult(t *testing.T) {
	ignore := func(report) {}
	one, err := shortRun(t, 2, ignore).run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	two, err := shortRun(t, 2, ignore).run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if one != two {
		t.Errorf("two runs gave %+v and %+v", one, two)
	}
}

func TestAStoppedRunNeverReportsOneHundred(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var last report
	run := shortRun(t, 2, func(r report) {
		last = r
		if *r.ProgressPercentage >= 50 {
			stop()
		}
	})
	if _, err := run.run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("run returned %v, want that it was stopped", err)
	}
	if got := *last.ProgressPercentage; got < 50 || got > 51 {
		t.Errorf("last report says %d %%, want where it stopped", got)
	}
}

func TestRemaining(t *testing.T) {
	cases := map[string]struct {
		elapsed     time.Duration
		done, total int
		want        int
		wantKnown   bool
	}{
		"nothing is known before a step":         {elapsed: time.Second, done: 0, total: 10},
		"one step is too little":                 {elapsed: time.Second, done: 1, total: 10},
		"half done takes as long again":          {elapsed: 10 * time.Second, done: 5, total: 10, want: 10, wantKnown: true},
		"a started second counts":                {elapsed: time.Second, done: 3, total: 4, want: 1, wantKnown: true},
		"the end leaves nothing":                 {elapsed: time.Second, done: 10, total: 10, wantKnown: true},
		"more steps than planned never go below": {elapsed: time.Second, done: 12, total: 10, wantKnown: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, known := remaining(tc.elapsed, tc.done, tc.total)
			if got != tc.want || known != tc.wantKnown {
				t.Errorf("remaining = %d, %v, want %d, %v", got, known, tc.want, tc.wantKnown)
			}
		})
	}
}
