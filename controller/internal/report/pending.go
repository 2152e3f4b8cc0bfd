// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Pending is a report on its way from the store to the writer.
type Pending struct {
	Job    JobKey
	JobUID types.UID
	// From is the sender of Report.
	From   Sender
	Report Report
	// Version grows with each accepted report of the job.
	Version uint64
	// Since is when the oldest change that is not yet stored was accepted.
	Since time.Time
	// Attempts counts the tries that failed since the job was last stored.
	Attempts int
	// Trimmed tells that the metrics of Report were left out, because the
	// TrainJob would be too large with them.
	Trimmed bool
	// Written is what this process stored last for the job; nil when nothing.
	Written *Report
}

// Wrote tells whether the kept report is the one that this process stored last.
// Then nobody else wrote since, and the order of arrival decides.
func (p Pending) Wrote(kept Kept) bool {
	return p.Written != nil && kept.Report != nil && p.Written.Equal(*kept.Report)
}

// Newer tells whether what is kept, by whomever it was stored, is newer than a
// report of the sender. Times of two pods cannot be compared, since their clocks
// may differ: so when the sender's pod was made after the kept report was
// stored, the kept one is of an earlier pod and not newer. And what lies further
// ahead of now than any time that is taken here was not taken by this clock: then
// the clocks of two servers differ, and the order of arrival decides.
func (k Kept) Newer(from Sender, r Report, now time.Time) bool {
	if k.Report == nil || k.Report.LastUpdatedTime.After(now.Add(MaxAhead)) {
		return false
	}
	if !from.PodCreated.IsZero() && !k.WrittenTime.IsZero() && from.PodCreated.After(k.WrittenTime) {
		return false
	}
	if k.Report.Final() && !r.Final() && !r.After(*k.Report) {
		return true
	}
	return k.Report.After(r)
}
