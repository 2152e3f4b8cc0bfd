// SPDX-License-Identifier: Apache-2.0

package progressview

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

func digits(progress, left *int32, metrics ...report.Metric) View {
	return View{
		Name:    "digits",
		Elapsed: 11 * time.Second,
		Report:  &report.Report{ProgressPercentage: progress, EstimatedRemainingSeconds: left, Metrics: metrics},
	}
}

var sample = []report.Metric{{Name: "epoch", Value: "36"}, {Name: "loss", Value: "0.0312"}, {Name: "accuracy", Value: "0.9721"}}

func TestBarOfEveryWidth(t *testing.T) {
	view := digits(new(int32(45)), new(int32(13)), sample...)
	cases := map[int]string{
		120: "digits  ━━━━━━━━━━━━━╸────────────────   45%  13s left  epoch 36  loss 0.0312  accuracy 0.9721  11s",
		80:  "digits  ━━━━━━━━━───────────   45%  13s left  epoch 36  loss 0.0312  +1  11s",
		59:  "digits  ━━━━╸─────   45%  13s left  epoch 36  +2  11s",
		40:  "digits  ━━━━╸─────   45%  13s left  11s",
		35:  "digits  ━━━━╸─────   45%  13s left",
		28:  "━━━━╸─────   45%  13s left",
		20:  " 45%  13s left  11s",
		8:   " 45%",
		4:   "45%",
		3:   "",
		0:   "",
	}
	for width, want := range cases {
		t.Run(fmt.Sprintf("in %d columns", width), func(t *testing.T) {
			if diff := cmp.Diff(want, Bar(view, Style{Width: width, Unicode: true})); diff != "" {
				t.Errorf("bar (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBarInDifferentStates(t *testing.T) {
	late := digits(new(int32(45)), new(int32(13)))
	late.ReportAge = 5 * time.Second
	overdue := late
	overdue.ReportAge = 20 * time.Second
	silent := late
	silent.ReportAge = 125 * time.Second
	done := digits(new(int32(100)), new(int32(0)), sample[1])
	done.ReportAge = time.Hour

	cases := map[string]struct {
		view View
		want string
	}{
		"before the first report":            {view: View{Name: "digits", Elapsed: 3 * time.Second}, want: "digits  waiting for the first report  3s"},
		"at the start":                       {view: digits(new(int32(0)), nil), want: "digits  [..........]    0%  11s"},
		"the time left counts down":          {view: late, want: "digits  [####......]   45%  8s left  11s"},
		"the time left never goes below 0":   {view: overdue, want: "digits  [####......]   45%  0s left  11s"},
		"reports that stop are worth a word": {view: silent, want: "digits  [####......]   45%  0s left  no report for 2m05s"},
		"a progress that is not known":       {view: digits(nil, nil, sample[1]), want: "digits  [..........]    ?%  loss 0.0312  11s"},
		"at the end":                         {view: done, want: "digits  [##########]  100%  loss 0.0312  11s"},
		"a progress beyond all bounds":       {view: digits(new(int32(170)), nil), want: "digits  [##########]  170%  11s"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Bar(tc.view, Style{Width: 59})); diff != "" {
				t.Errorf("bar (-want +got):\n%s", diff)
			}
		})
	}
}

func TestColoursChangeNothingButColours(t *testing.T) {
	view := digits(new(int32(45)), new(int32(13)), sample...)
	coloured := Bar(view, Style{Width: 80, Unicode: true, Colour: true})
	want := "digits  \x1b[36m━━━━━━━━━\x1b[0m\x1b[2m───────────\x1b[0m  \x1b[1m 45%\x1b[0m  13s left" +
		"  \x1b[2mepoch\x1b[0m 36  \x1b[2mloss\x1b[0m 0.0312  \x1b[2m+1\x1b[0m  \x1b[2m11s\x1b[0m"
	if diff := cmp.Diff(want, coloured); diff != "" {
		t.Errorf("coloured bar (-want +got):\n%s", diff)
	}
	bare := coloured
	for _, code := range []string{"0", "1", "2", "36"} {
		bare = strings.ReplaceAll(bare, "\x1b["+code+"m", "")
	}
	if diff := cmp.Diff(Bar(view, Style{Width: 80, Unicode: true}), bare); diff != "" {
		t.Errorf("bar without its colours (-want +got):\n%s", diff)
	}
}

// Whatever a training program sends, the line stays one line, fits, and holds no escape sequence but our own.
func FuzzBarFitsAndIsHarmless(f *testing.F) {
	f.Add("loss", "0.1", "digits", 80)
	f.Add("\x1b[2J\x1b[31m", "a\nb\rc", "x\u202ey", 40)
	f.Add("損失", "値\u009b31m", "名前", 17)
	f.Fuzz(func(t *testing.T, name, value, job string, width int) {
		width %= 300
		view := digits(new(int32(45)), new(int32(13)), report.Metric{Name: name, Value: value}, report.Metric{Name: value, Value: name})
		view.Name = job
		for _, unicode := range []bool{false, true} {
			got := Bar(view, Style{Width: width, Unicode: unicode})
			if columns := Columns(got); columns > max(width-1, 0) {
				t.Errorf("%d columns in a terminal of %d: %q", columns, width, got)
			}
			if Text(got) != got {
				t.Errorf("bar holds characters that act on the terminal: %q", got)
			}
		}
		if got := Plain(view); Text(got) != got {
			t.Errorf("plain line holds characters that act on the terminal: %q", got)
		}
	})
}

func TestPlain(t *testing.T) {
	cases := map[string]struct {
		view View
		want string
	}{
		"before the first report":      {view: View{Elapsed: 3 * time.Second}, want: "running for 3s, no report yet"},
		"everything known":             {view: digits(new(int32(45)), new(int32(73)), sample...), want: "progress 45%, 1m13s left  epoch=36 loss=0.0312 accuracy=0.9721"},
		"progress not known":           {view: digits(nil, nil, sample[1]), want: "progress unknown  loss=0.0312"},
		"the end has no time left":     {view: digits(new(int32(100)), new(int32(0))), want: "progress 100%"},
		"escape sequences are visible": {view: digits(new(int32(1)), nil, report.Metric{Name: "\x1b]0;x\a", Value: "\u202e1"}), want: `progress 1%  ^[]0;x^G=\u202e1`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Plain(tc.view)); diff != "" {
				t.Errorf("line (-want +got):\n%s", diff)
			}
		})
	}
}
