// SPDX-License-Identifier: Apache-2.0

// Package progressview turns the state of a run into text: the live bar of a
// terminal, plain lines for a log, and the short forms of durations and metrics
// that tables use.
//
// It owns how progress looks, how it fits into a width, and that nothing a
// training program sends can act on the terminal. It does not own the terminal
// itself, the time or any state: every function is pure.
package progressview

import (
	"strconv"
	"strings"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

// View is what there is to show.
type View struct {
	// Name of the TrainJob.
	Name string
	// Report is the newest one; nil before the first.
	Report *report.Report
	// ReportAge is how long ago it came. The time left counts down by it.
	ReportAge time.Duration
	// Elapsed is how long the command has been running.
	Elapsed time.Duration
}

// staleAfter is when a missing report is worth a word. Clients report every few
// seconds, and even a slow epoch rarely takes this long.
const staleAfter = time.Minute

// secondsLeft is the reported remaining time less the time since; -1 when unknown.
func (v View) secondsLeft() int64 {
	if v.Report == nil || v.Report.EstimatedRemainingSeconds == nil {
		return -1
	}
	return max(int64(*v.Report.EstimatedRemainingSeconds)-int64(v.ReportAge/time.Second), 0)
}

// done tells whether the report says that training is complete.
func (v View) done() bool { return v.Report != nil && v.Report.Final() }

// Percent returns the progress as "45%", or "?%" when it is not known.
func Percent(progress *int32) string {
	if progress == nil {
		return "?%"
	}
	return strconv.Itoa(int(*progress)) + "%"
}

// Metrics returns name=value pairs in one line, safe to print.
func Metrics(metrics []report.Metric) string {
	parts := make([]string, len(metrics))
	for i, m := range metrics {
		parts[i] = Text(m.Name) + "=" + Text(m.Value)
	}
	return strings.Join(parts, " ")
}

// Plain returns the state as one line of text without control characters, for
// logs and terminals that can do no more.
func Plain(v View) string {
	if v.Report == nil {
		return "running for " + Duration(v.Elapsed) + ", no report yet"
	}
	parts := []string{"progress " + Percent(v.Report.ProgressPercentage)}
	if v.Report.ProgressPercentage == nil {
		parts[0] = "progress unknown"
	}
	if left := v.secondsLeft(); left >= 0 && !v.done() {
		parts = append(parts, Duration(time.Duration(left)*time.Second)+" left")
	}
	line := strings.Join(parts, ", ")
	if len(v.Report.Metrics) > 0 {
		line += "  " + Metrics(v.Report.Metrics)
	}
	return line
}

// Last returns what stays of a report when the run is over: progress and metrics,
// not the time left.
func Last(rep report.Report) string {
	rep.EstimatedRemainingSeconds = nil
	return Plain(View{Report: &rep})
}

// Duration returns a length of time in two units at most: 7s, 4m05s, 2h07m, 3d04h.
func Duration(d time.Duration) string {
	seconds := int64(max(d, 0) / time.Second)
	minutes, hours, days := seconds/60, seconds/3600, seconds/86400
	switch {
	case minutes == 0:
		return strconv.FormatInt(seconds, 10) + "s"
	case hours == 0:
		return pair(minutes, "m", seconds%60, "s")
	case days == 0:
		return pair(hours, "h", minutes%60, "m")
	}
	return pair(days, "d", hours%24, "h")
}

func pair(large int64, largeUnit string, small int64, smallUnit string) string {
	text := strconv.FormatInt(small, 10)
	if len(text) == 1 {
		text = "0" + text
	}
	return strconv.FormatInt(large, 10) + largeUnit + text + smallUnit
}
