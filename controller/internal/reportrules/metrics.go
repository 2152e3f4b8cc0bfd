// SPDX-License-Identifier: Apache-2.0

package reportrules

import (
	"fmt"
	"unicode/utf8"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

// metricChecks decide whether one entry is left out. The first that fails says
// why.
var metricChecks = []func(m report.DraftMetric) (message string, failed bool){
	isObject,     // anything else has neither name nor value
	nameIsText,   // a name of another type has no one spelling
	nameIsGiven,  // the CRD refuses the whole list for one empty name
	nameIsShort,  // the same for a long one
	valueIsText,  // true, null or a list are no measurement
	valueIsGiven, // the CRD refuses the whole list for one empty value
	valueIsShort, // the same for a long one
}

// Made once: the checks run for every metric of every report.
var (
	longName  = fmt.Sprintf("has a name longer than %d characters", MaxText)
	longValue = fmt.Sprintf("has a value longer than %d characters", MaxText)
)

// keepMetrics returns the first MaxMetrics good entries, with one sentence per
// entry that is left out.
func keepMetrics(d *report.Draft) (kept []report.Metric, notes []string) {
	if len(d.Metrics) == 0 {
		return nil, nil
	}
	kept = make([]report.Metric, 0, min(len(d.Metrics), MaxMetrics))
	over := d.MoreMetrics
	for i, m := range d.Metrics {
		if message, failed := judgeMetric(m); failed {
			notes = append(notes, metricNote(i, m.Name, message))
			continue
		}
		if len(kept) == MaxMetrics {
			over++
			continue
		}
		kept = append(kept, report.Metric{Name: m.Name, Value: m.Value})
	}
	if over > 0 {
		notes = append(notes, fmt.Sprintf("trainerStatus.metrics has more than %d entries; %d left out", MaxMetrics, over))
	}
	if len(kept) == 0 {
		kept = nil
	}
	return kept, notes
}

func judgeMetric(m report.DraftMetric) (string, bool) {
	for _, check := range metricChecks {
		if message, failed := check(m); failed {
			return message, true
		}
	}
	return "", false
}

func metricNote(index int, name, message string) string {
	label := ""
	if name != "" && isShort(name) {
		label = fmt.Sprintf(" (%s)", name)
	}
	return fmt.Sprintf("trainerStatus.metrics[%d]%s %s; metric left out", index, label, message)
}

func isObject(m report.DraftMetric) (string, bool) {
	return "is no object", m.Fault == report.MetricNotObject
}

func nameIsText(m report.DraftMetric) (string, bool) {
	return "has a name that is no string", m.Fault == report.MetricNameNotText
}

func nameIsGiven(m report.DraftMetric) (string, bool) {
	return "has no name", m.Name == ""
}

func nameIsShort(m report.DraftMetric) (string, bool) {
	return longName, !isShort(m.Name)
}

func valueIsText(m report.DraftMetric) (string, bool) {
	return "has a value that is neither string nor number", m.Fault == report.MetricValueNotText
}

func valueIsGiven(m report.DraftMetric) (string, bool) {
	return "has no value", m.Value == ""
}

func valueIsShort(m report.DraftMetric) (string, bool) {
	return longValue, !isShort(m.Value)
}

// isShort counts characters as the API server does. Most text is short enough
// in bytes and needs no counting.
func isShort(text string) bool {
	return len(text) <= MaxText || utf8.RuneCountInString(text) <= MaxText
}
