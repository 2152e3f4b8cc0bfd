// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	namespace = "milepost"
	reports   = "reports"
)

// Reports counts what happens to reports. It is the observer of intake, latest
// and statuswriter.
type Reports struct {
	answered   *prometheus.CounterVec
	latency    *prometheus.HistogramVec
	refused    *prometheus.CounterVec
	limited    *prometheus.CounterVec
	accepted   prometheus.Counter
	coalesced  prometheus.Counter
	superseded prometheus.Counter
	written    *prometheus.CounterVec
	skipped    *prometheus.CounterVec
	callTime   prometheus.Histogram
	waitTime   prometheus.Histogram
}

// Waiting tells what is accepted and not stored yet.
type Waiting interface {
	// Len is the number of jobs that wait.
	Len() int
	// OldestWait is how long the one waits that waits longest.
	OldestWait() time.Duration
}

func counter(name, help string) prometheus.CounterOpts {
	return prometheus.CounterOpts{Namespace: namespace, Subsystem: reports, Name: name, Help: help}
}

func histogram(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{Namespace: namespace, Subsystem: reports, Name: name, Help: help, Buckets: buckets}
}

// NewReports returns collectors that are registered.
func NewReports(registry prometheus.Registerer) (*Reports, error) {
	fast := []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}
	slow := []float64{.01, .05, .1, .25, .5, 1, 2, 5, 10, 30, 60, 120}
	r := &Reports{
		answered:   prometheus.NewCounterVec(counter("requests_total", "Requests to the report endpoint by method and status code; code 0 was cut off without an answer."), []string{"method", "code"}),
		latency:    prometheus.NewHistogramVec(histogram("request_duration_seconds", "Time from the header of a request to the end of its answer, the wait for the store included.", fast), []string{"method"}),
		refused:    prometheus.NewCounterVec(counter("refused_total", "Requests refused because of who sent them, by reason."), []string{"reason"}),
		limited:    prometheus.NewCounterVec(counter("limited_total", "Requests and connections turned away by a limit: pod, namespace, address, server, connections, podConnections or addressConnections."), []string{"limit"}),
		accepted:   prometheus.NewCounter(counter("accepted_total", "Reports accepted as the newest of their job.")),
		coalesced:  prometheus.NewCounter(counter("coalesced_total", "Accepted reports whose place was taken by a newer one before they were written.")),
		superseded: prometheus.NewCounter(counter("superseded_total", "Reports dropped because a newer one was known.")),
		written:    prometheus.NewCounterVec(counter("writes_total", "Calls to the API server that store a report, by result: stored, conflict, gone, invalid or fault."), []string{"result"}),
		skipped:    prometheus.NewCounterVec(counter("writes_skipped_total", "Reports that needed no write, by reason: equal or superseded."), []string{"reason"}),
		callTime:   prometheus.NewHistogram(histogram("write_duration_seconds", "Time of a call that stored a report.", fast)),
		waitTime:   prometheus.NewHistogram(histogram("write_wait_seconds", "Time from the first report of a job that was not stored to the write that stored its newest.", slow)),
	}
	var errs []error
	for _, c := range []prometheus.Collector{
		r.answered, r.latency, r.refused, r.limited, r.accepted, r.coalesced, r.superseded,
		r.written, r.skipped, r.callTime, r.waitTime,
	} {
		errs = append(errs, takeOver(registry, c))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("registering the metrics of reports: %w", err)
	}
	return r, nil
}

// takeOver registers a collector in place of one of the same name. The registry
// outlives a manager where one is started after another in a process.
func takeOver(registry prometheus.Registerer, c prometheus.Collector) error {
	registry.Unregister(c)
	return registry.Register(c)
}

// WatchWaiting registers gauges of what waits to be stored.
func (r *Reports) WatchWaiting(registry prometheus.Registerer, w Waiting) error {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Subsystem: reports, Name: name, Help: help}, value)
	}
	err := errors.Join(
		takeOver(registry, gauge("waiting_jobs", "Jobs with an accepted report that is not stored yet.", func() float64 { return float64(w.Len()) })),
		takeOver(registry, gauge("oldest_waiting_seconds", "How long the job that waits longest has had something to store.", func() float64 { return w.OldestWait().Seconds() })),
	)
	if err != nil {
		return fmt.Errorf("registering the metrics of waiting reports: %w", err)
	}
	return nil
}

// Answered counts a request.
func (r *Reports) Answered(method string, code int, seconds float64) {
	r.answered.WithLabelValues(method, strconv.Itoa(code)).Inc()
	r.latency.WithLabelValues(method).Observe(seconds)
}

// Refused counts a caller that was refused.
func (r *Reports) Refused(reason string) { r.refused.WithLabelValues(reason).Inc() }

// Limited counts what a limit turned away.
func (r *Reports) Limited(limit string) { r.limited.WithLabelValues(limit).Inc() }

// Accepted counts a report that is the newest of its job.
func (r *Reports) Accepted() { r.accepted.Inc() }

// Coalesced counts a report that never has to be written.
func (r *Reports) Coalesced() { r.coalesced.Inc() }

// Superseded counts a report that came too late.
func (r *Reports) Superseded() { r.superseded.Inc() }

// Written counts a call that stored a report.
func (r *Reports) Written(callSeconds, waitedSeconds float64) {
	r.written.WithLabelValues("stored").Inc()
	r.callTime.Observe(callSeconds)
	r.waitTime.Observe(waitedSeconds)
}

// Skipped counts a report that needed no write.
func (r *Reports) Skipped(reason string) { r.skipped.WithLabelValues(reason).Inc() }

// Failed counts a call that stored nothing.
func (r *Reports) Failed(reason string) { r.written.WithLabelValues(reason).Inc() }
