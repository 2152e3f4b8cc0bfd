// SPDX-License-Identifier: Apache-2.0

package report

// Draft is a report as it came off the wire: the JSON was well formed and every
// field had a type that can carry its meaning, but no rule was checked yet.
type Draft struct {
	// Progress and Remaining hold the numbers as written.
	Progress  Number
	Remaining Number
	Metrics   []DraftMetric
	// MoreMetrics counts entries at the end of a long list that were not read.
	MoreMetrics int
	// LastUpdatedTime is the text of the time, "" when it was absent or null.
	LastUpdatedTime Text
}

// Number is a JSON number as written, so that nothing is lost by rounding.
type Number struct {
	// Literal is empty when the field was absent or null.
	Literal string
}

// Text is a JSON string that may be absent.
type Text struct {
	Set   bool
	Value string
}

// DraftMetric is one entry of the list of metrics.
type DraftMetric struct {
	Name  string
	Value string
	// Fault is set when the entry cannot be kept whatever its length.
	Fault MetricFault
}

// MetricFault says why an entry of the list of metrics has no name or value.
type MetricFault int

const (
	// MetricSound is an entry with a name and a value.
	MetricSound MetricFault = iota
	// MetricNotObject is an entry that is no JSON object.
	MetricNotObject
	// MetricNameNotText is an entry whose name is no string.
	MetricNameNotText
	// MetricValueNotText is an entry whose value is neither string nor number.
	MetricValueNotText
)
