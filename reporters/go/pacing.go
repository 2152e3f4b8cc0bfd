// SPDX-License-Identifier: Apache-2.0

package milepost

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

const (
	defaultInterval = 5 * time.Second
	firstBackoff    = time.Second
	longestBackoff  = time.Minute
	longestRetry    = 5 * time.Minute
)

// pacing decides when the next attempt may begin. Only a success starts the interval, so a failed
// attempt never delays a report by more than the back-off. D12, D13.
type pacing struct {
	interval time.Duration                     // scaled
	scale    func(time.Duration) time.Duration // for the times that are not scaled yet
	failures int                               // in a row
	paced    time.Time                         // not before this, unless the report is urgent
	backoff  time.Time                         // not before this, unless reporting ends
}

// due is the earliest time for the next attempt.
func (p *pacing) due(urgent bool) time.Time {
	if urgent || p.backoff.After(p.paced) {
		return p.backoff
	}
	return p.paced
}

// settled notes that the server took or refused a report in an attempt that began at start.
func (p *pacing) settled(start time.Time) {
	p.failures, p.backoff, p.paced = 0, time.Time{}, start.Add(p.interval)
}

// failed notes a failure at end and what the server asks for.
func (p *pacing) failed(end time.Time, retryAfter time.Duration) {
	p.failures++
	wait := time.Duration(float64(backoffLimit(p.failures)) * (0.5 + 0.5*rand.Float64()))
	p.backoff = end.Add(p.scale(max(wait, retryAfter)))
}

// backoffLimit is the longest wait after a number of failures in a row.
func backoffLimit(failures int) time.Duration {
	doublings := min(failures-1, 6)
	return min(firstBackoff<<doublings, longestBackoff)
}

// retryAfter reads a Retry-After header: whole seconds or a date. D13.
func retryAfter(header string, now time.Time) (time.Duration, bool) {
	header = strings.TrimSpace(header)
	if digits, ok := wholeNumber(header); ok {
		if len(digits) > 3 { // 300 s is the most, whatever follows
			return longestRetry, true
		}
		wait := time.Duration(0)
		for _, digit := range digits {
			wait = wait*10 + time.Duration(digit-'0')*time.Second
		}
		return min(wait, longestRetry), true
	}
	date, err := http.ParseTime(header)
	if err != nil {
		return 0, false
	}
	return min(max(0, date.Sub(now)), longestRetry), true
}
