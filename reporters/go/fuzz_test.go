// SPDX-License-Identifier: Apache-2.0

package milepost

import (
	"encoding/json"
	"math"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/milepost-dev/milepost/reporters/go/internal/wire"
)

// FuzzRemaining sends any three reports: the time remaining is unknown or fits the wire.
func FuzzRemaining(f *testing.F) {
	f.Add(int64(0), int64(10), int64(20), int64(100), int64(time.Second), int64(time.Second))
	f.Add(int64(math.MinInt64), int64(0), int64(math.MaxInt64), int64(math.MaxInt64), int64(-1), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, one, two, three, total, first, second int64) {
		var r rate
		now := time.Duration(0)
		for _, sample := range []struct{ step, passed int64 }{{one, 0}, {two, first}, {three, second}} {
			now += time.Duration(sample.passed)
			r.add(now, sample.step)
			if left := r.remaining(sample.step, total); left != nil && *left < 0 {
				t.Fatalf("time remaining is %d", *left)
			}
			if math.IsNaN(r.time) || math.IsNaN(r.steps) || r.time < 0 || r.steps < 0 {
				t.Fatalf("the rate is %+v", r)
			}
		}
	})
}

// FuzzMetrics sends any name and text: what is sent is JSON that says the same and keeps the limits.
func FuzzMetrics(f *testing.F) {
	f.Add("loss", "0.5", "eval")
	f.Add("\x00\xff", "\x1b[31m", "\u2028")
	f.Fuzz(func(t *testing.T, name, text, group string) {
		c := collect([]Part{Metric(name, text), Group(group, Metric(name, text)), Metric(group, map[string]string{name: text})})
		body, err := encode(wire.TrainJobStatusUpdate{TrainerStatus: &wire.TrainerStatus{Metrics: selectMetrics(c.metrics.items, nil)}})
		if err != nil || !utf8.Valid(body) || len(body) > maxBody {
			t.Fatalf("%d bytes: %v", len(body), err)
		}
		var back wire.TrainJobStatusUpdate
		if err := json.Unmarshal(body, &back); err != nil {
			t.Fatal(err)
		}
		for i, m := range back.TrainerStatus.Metrics {
			if m != c.metrics.items[i] {
				t.Errorf("sent %q, read %q", c.metrics.items[i], m)
			}
			for _, part := range []string{m.Name, m.Value} {
				if n := utf8.RuneCountInString(part); n < 1 || n > wire.MetricNameMaxLength {
					t.Errorf("%q has %d code points", part, n)
				}
			}
		}
	})
}

// FuzzHeaders reads any headers of an answer without harm.
func FuzzHeaders(f *testing.F) {
	f.Add(`299 - "a", 299 - "b\"c" "Fri, 12 Jun 2026 03:00:00 GMT"`)
	f.Add("99999999999999999999")
	f.Fuzz(func(t *testing.T, header string) {
		for _, text := range warningTexts([]string{header}) {
			if text == "" {
				t.Error("an empty warning")
			}
		}
		if wait, _ := retryAfter(header, time.Now()); wait < 0 || wait > longestRetry {
			t.Errorf("the wait is %v", wait)
		}
		if token, ok := tokenText([]byte(header)); ok && token == "" {
			t.Error("an empty token")
		}
	})
}
