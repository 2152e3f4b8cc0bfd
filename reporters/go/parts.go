// SPDX-License-Identifier: Apache-2.0

package milepost

import (
	"maps"
	"slices"
	"time"
)

// A Part is one thing that a report says: [Step], [Percent], [Remaining], [Metric], [Metrics],
// [Group] or [Keep].
type Part interface {
	addTo(c *call)
}

// call collects the parts of one call.
type call struct {
	step, total *int64
	percent     *float64
	remaining   *time.Duration
	metrics     metricList
	keep        []string
}

// collect never panics, whatever the values are made of. D3.
func collect(parts []Part) (c call) {
	defer func() { _ = recover() }()
	for _, part := range parts {
		if part != nil {
			part.addTo(&c)
		}
	}
	return c
}

type partFunc func(c *call)

func (f partFunc) addTo(c *call) { f(c) }

// Step says that this many steps of a total are done. Progress and time remaining follow from it.
// A total of 0 or less is unknown: metrics are sent, progress is not. Progress from steps ends at
// 99; [Reporter.Complete] makes it 100.
func Step(done, total int64) Part {
	return partFunc(func(c *call) { c.step, c.total = &done, &total })
}

// Percent states the progress, 0 to 100, and wins over what [Step] says. The fraction is dropped.
// 100 says that the training is complete. NaN leaves progress out.
func Percent(percent float64) Part {
	return partFunc(func(c *call) { c.percent = &percent })
}

// Remaining states the time remaining in whole seconds and wins over the estimate. Below 0 counts
// as 0.
func Remaining(d time.Duration) Part {
	return partFunc(func(c *call) { c.remaining = &d })
}

// Metric is a named value: a number, a boolean or text. Names and texts have 1 to 64 characters.
// A map with text as keys becomes one metric per entry, named name/key. Other values are left out,
// with one log line per name.
func Metric(name string, value any) Part {
	return partFunc(func(c *call) { c.metrics.add(name, value) })
}

// Metrics are named values in the order of their names. Use [Metric] for another order.
type Metrics map[string]any

func (m Metrics) addTo(c *call) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		c.metrics.add(name, m[name])
	}
}

// Group puts a name and a slash before the names of the metrics among the parts.
func Group(name string, parts ...Part) Part {
	return partFunc(func(c *call) { c.metrics.group(name, parts) })
}

// Keep names metrics that must not be left out when there are more than 256. Names of grouped
// metrics are given in full.
func Keep(names ...string) Part {
	return partFunc(func(c *call) { c.keep = append(c.keep, names...) })
}
