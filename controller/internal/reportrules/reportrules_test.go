// SPDX-License-Identifier: Apache-2.0

package reportrules

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

var now = time.Date(2026, 6, 12, 3, 0, 0, 500_000_000, time.UTC)

func newRules() *Rules { return New(clocktesting.NewFakePassiveClock(now)) }

func timed(text string) report.Draft {
	return report.Draft{LastUpdatedTime: report.Text{Set: true, Value: text}}
}

func TestNumbers(t *testing.T) {
	const progress, remaining = "trainerStatus.progressPercentage ", "trainerStatus.estimatedRemainingSeconds "
	cases := map[string]struct {
		progress, remaining string
		wantProgress        *int32
		wantRemaining       *int32
		notes               []string
		invalid             []string
	}{
		"both absent":                     {},
		"whole numbers":                   {progress: "45", remaining: "120", wantProgress: new(int32(45)), wantRemaining: new(int32(120))},
		"the ends of the range":           {progress: "100", remaining: "0", wantProgress: new(int32(100)), wantRemaining: new(int32(0))},
		"minus zero":                      {progress: "-0", wantProgress: new(int32(0))},
		"a whole number with a fraction":  {progress: "45.0", wantProgress: new(int32(45)), notes: []string{progress + "45.0 was taken as 45"}},
		"a fraction is dropped":           {remaining: "12.5", wantRemaining: new(int32(12)), notes: []string{remaining + "12.5 was taken as 12"}},
		"just below complete stays below": {progress: "99.99999999999999999999", wantProgress: new(int32(99)), notes: []string{progress + "99.99999999999999999999 was taken as 99"}},
		"rounding noise above complete":   {progress: "100.00000000000001", wantProgress: new(int32(100)), notes: []string{progress + "100.00000000000001 was taken as 100"}},
		"rounding noise below zero":       {progress: "-1e-17", wantProgress: new(int32(0)), notes: []string{progress + "-1e-17 was taken as 0"}},
		"an exponent":                     {progress: "4.5e1", wantProgress: new(int32(45)), notes: []string{progress + "4.5e1 was taken as 45"}},
		"time above int32 is capped":      {remaining: "2147483648", wantRemaining: new(int32(math.MaxInt32)), notes: []string{remaining + "2147483648 was taken as 2147483647"}},
		"time beyond any number":          {remaining: "1e400", wantRemaining: new(int32(math.MaxInt32)), notes: []string{remaining + "1e400 was taken as 2147483647"}},
		"time of a hundred digits": {
			remaining: strings.Repeat("9", 100), wantRemaining: new(int32(math.MaxInt32)),
			notes: []string{remaining + strings.Repeat("9", 32) + "... was taken as 2147483647"},
		},
		"progress above 100":                 {progress: "101", invalid: []string{"trainerStatus.progressPercentage: 101 is outside 0 to 100"}},
		"progress below 0":                   {progress: "-1", invalid: []string{"trainerStatus.progressPercentage: -1 is outside 0 to 100"}},
		"progress far above":                 {progress: "3e9", invalid: []string{"trainerStatus.progressPercentage: 3e9 is outside 0 to 100"}},
		"progress below any number":          {progress: "-1e400", invalid: []string{"trainerStatus.progressPercentage: -1e400 is outside 0 to 100"}},
		"time below 0":                       {remaining: "-1", invalid: []string{"trainerStatus.estimatedRemainingSeconds: -1 is below 0"}},
		"every field at fault is named once": {progress: "150", remaining: "-5", invalid: []string{"trainerStatus.progressPercentage: 150 is outside 0 to 100", "trainerStatus.estimatedRemainingSeconds: -5 is below 0"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			draft := timed("2026-06-12T03:00:00Z")
			draft.Progress.Literal, draft.Remaining.Literal = tc.progress, tc.remaining
			got, notes, err := newRules().Check(draft)
			if diff := cmp.Diff(tc.invalid, messages(t, err)); diff != "" {
				t.Fatalf("faults (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.notes, notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantProgress, got.ProgressPercentage); diff != "" {
				t.Errorf("progress (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantRemaining, got.EstimatedRemainingSeconds); diff != "" {
				t.Errorf("remaining (-want +got):\n%s", diff)
			}
		})
	}
}

func messages(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var invalid report.Invalid
	if !errors.As(err, &invalid) {
		t.Fatalf("error %v is not report.Invalid", err)
	}
	out := make([]string, 0, len(invalid))
	for _, f := range invalid {
		if f.Reason != "FieldValueInvalid" {
			t.Errorf("reason %q of %s", f.Reason, f.Field)
		}
		out = append(out, f.Field+": "+f.Message)
	}
	return out
}

func TestTimes(t *testing.T) {
	const (
		field = "trainerStatus.lastUpdatedTime "
		ahead = field + "is more than five minutes ahead; the server's time was taken"
	)
	cases := map[string]struct {
		draft   report.Draft
		want    string // as stored; "" means invalid
		wantSub string // with its fraction
		note    string
	}{
		"UTC":                          {draft: timed("2026-06-12T03:00:00Z"), want: "2026-06-12T03:00:00Z"},
		"as Python writes it":          {draft: timed("2026-06-12T02:59:59.197448+00:00"), want: "2026-06-12T02:59:59Z", wantSub: "2026-06-12T02:59:59.197448Z"},
		"another zone":                 {draft: timed("2026-06-12T05:00:00+02:00"), want: "2026-06-12T03:00:00Z"},
		"zone without colon":           {draft: timed("2026-06-12T05:00:00+0200"), want: "2026-06-12T03:00:00Z"},
		"zone in hours":                {draft: timed("2026-06-11T22:00:00-05"), want: "2026-06-12T03:00:00Z"},
		"a space and a small z":        {draft: timed("2026-06-12 03:00:00z"), want: "2026-06-12T03:00:00Z"},
		"no zone":                      {draft: timed("2026-06-12T03:00:00.5"), want: "2026-06-12T03:00:00Z", wantSub: "2026-06-12T03:00:00.5Z", note: field + "has no zone; UTC was taken"},
		"missing":                      {draft: report.Draft{}, want: "2026-06-12T03:00:00Z", wantSub: "2026-06-12T03:00:00.5Z", note: field + "is missing; the server's time was taken"},
		"five minutes ahead":           {draft: timed("2026-06-12T03:05:00Z"), want: "2026-06-12T03:05:00Z"},
		"a second more":                {draft: timed("2026-06-12T03:05:01Z"), want: "2026-06-12T03:00:00Z", wantSub: "2026-06-12T03:00:00.5Z", note: ahead},
		"ahead and without zone":       {draft: timed("2036-06-12T03:05:01"), want: "2026-06-12T03:00:00Z", wantSub: "2026-06-12T03:00:00.5Z", note: field + "has no zone; UTC was taken|" + ahead},
		"long ago":                     {draft: timed("1999-12-31T23:59:59Z"), want: "1999-12-31T23:59:59Z"},
		"no time at all":               {draft: timed("yesterday")},
		"empty":                        {draft: timed("")},
		"a date alone":                 {draft: timed("2026-06-12")},
		"a time of day alone":          {draft: timed("03:00:00Z")},
		"a day that does not exist":    {draft: timed("2026-02-30T03:00:00Z")},
		"seconds since 1970 as text":   {draft: timed("1781233200")},
		"the instant that means never": {draft: timed("0001-01-01T00:00:00Z")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, notes, err := newRules().Check(tc.draft)
			if tc.want == "" {
				if diff := cmp.Diff([]string{"trainerStatus.lastUpdatedTime: is not a time; want a form like 2026-06-12T03:00:00Z"}, messages(t, err)); diff != "" {
					t.Errorf("faults (-want +got):\n%s", diff)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if text := got.LastUpdatedTime.Format(time.RFC3339Nano); text != tc.want {
				t.Errorf("stored time %s, want %s", text, tc.want)
			}
			if sub := got.SentTime.Format(time.RFC3339Nano); tc.wantSub != "" && sub != tc.wantSub {
				t.Errorf("sent time %s, want %s", sub, tc.wantSub)
			}
			if note := strings.Join(notes, "|"); note != tc.note {
				t.Errorf("notes %q, want %q", note, tc.note)
			}
		})
	}
}

func TestMetrics(t *testing.T) {
	long := strings.Repeat("x", MaxText+1)
	wide := strings.Repeat("é", MaxText)
	good := report.DraftMetric{Name: "loss", Value: "0.5"}
	cases := map[string]struct {
		metrics []report.DraftMetric
		want    []report.Metric
		notes   []string
	}{
		"good ones keep their order and their doubles": {
			metrics: []report.DraftMetric{{Name: "b", Value: "nan"}, {Name: "a", Value: "1"}, {Name: "b", Value: "2"}},
			want:    []report.Metric{{Name: "b", Value: "nan"}, {Name: "a", Value: "1"}, {Name: "b", Value: "2"}},
		},
		"64 characters, not bytes": {
			metrics: []report.DraftMetric{{Name: wide, Value: wide}},
			want:    []report.Metric{{Name: wide, Value: wide}},
		},
		"each bad one is left out by itself": {
			metrics: []report.DraftMetric{
				{Name: "", Value: "1"},
				{Name: long, Value: "1"},
				good,
				{Name: "a", Value: ""},
				{Name: "a", Value: long},
				{Fault: report.MetricNotObject},
				{Value: "1", Fault: report.MetricNameNotText},
				{Name: "a", Fault: report.MetricValueNotText},
			},
			want: []report.Metric{{Name: "loss", Value: "0.5"}},
			notes: []string{
				"trainerStatus.metrics[0] has no name; metric left out",
				"trainerStatus.metrics[1] has a name longer than 64 characters; metric left out",
				"trainerStatus.metrics[3] (a) has no value; metric left out",
				"trainerStatus.metrics[4] (a) has a value longer than 64 characters; metric left out",
				"trainerStatus.metrics[5] is no object; metric left out",
				"trainerStatus.metrics[6] has a name that is no string; metric left out",
				"trainerStatus.metrics[7] (a) has a value that is neither string nor number; metric left out",
			},
		},
		"none left is none": {metrics: []report.DraftMetric{{}}, notes: []string{"trainerStatus.metrics[0] has no name; metric left out"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			draft := timed("2026-06-12T03:00:00Z")
			draft.Metrics = tc.metrics
			got, notes, err := newRules().Check(draft)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Metrics); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.notes, notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFirst256MetricsAreKept(t *testing.T) {
	draft := timed("2026-06-12T03:00:00Z")
	for i := range 300 {
		draft.Metrics = append(draft.Metrics, report.DraftMetric{Name: fmt.Sprint(i), Value: "1"})
	}
	draft.MoreMetrics = 7
	got, notes, err := newRules().Check(draft)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Metrics) != MaxMetrics || got.Metrics[255].Name != "255" {
		t.Errorf("%d metrics kept, the last is %v", len(got.Metrics), got.Metrics[len(got.Metrics)-1])
	}
	if diff := cmp.Diff([]string{"trainerStatus.metrics has more than 256 entries; 51 left out"}, notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func FuzzTime(f *testing.F) {
	for _, seed := range []string{"2026-06-12T03:00:00Z", "2026-06-12 03:00:00", "2026-06-12T03:00:00.1+02:00", "", "9999-12-31T23:59:59Z"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, _, err := newRules().Check(timed(text))
		if err != nil {
			return
		}
		if got.LastUpdatedTime.IsZero() || got.LastUpdatedTime.Nanosecond() != 0 || got.LastUpdatedTime.Location() != time.UTC {
			t.Errorf("%q is stored as %v", text, got.LastUpdatedTime)
		}
		if got.LastUpdatedTime.After(now.Add(MaxAhead)) {
			t.Errorf("%q is stored as %v, which is ahead", text, got.LastUpdatedTime)
		}
		// What upstream reads must be read, and as the same instant.
		if want, err := time.Parse(time.RFC3339, text); err == nil && want.Before(now) && !want.Truncate(time.Second).Equal(got.LastUpdatedTime) {
			t.Errorf("%q is stored as %v", text, got.LastUpdatedTime)
		}
	})
}
