// SPDX-License-Identifier: Apache-2.0

// Package reportrules decides what of a report may be stored.
//
// It owns the rules for each field of a report: what is refused, what is mended
// and what is left out. It does not own the syntax of a report (intake), the
// order of reports in time (latest) or whether anything is stored.
//
// A report is refused only where its meaning is in doubt. A detail that cannot
// be kept never costs the rest of the report.
package reportrules

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

// Limits of a report. They are those of the CRD.
const (
	// MaxMetrics is the largest number of metrics that is kept.
	MaxMetrics = 256
	// MaxText is the largest number of characters of a name or a value.
	MaxText = 64
	// MaxAhead is how far the clock of a sender may be ahead.
	MaxAhead = report.MaxAhead
)

// Rules checks drafts. It has no state but the clock.
type Rules struct {
	clock clock.PassiveClock
}

// New returns Rules that read the time of the server from the clock.
func New(c clock.PassiveClock) *Rules {
	return &Rules{clock: c}
}

// Check returns the report with one sentence per detail that was mended or left
// out, or a report.Invalid that names every field at fault.
func (r *Rules) Check(draft report.Draft) (report.Report, []string, error) {
	now := r.clock.Now().UTC()
	var (
		rep     report.Report
		notes   []string
		invalid report.Invalid
	)
	for _, rule := range rules {
		reason, message, failed := rule.check(&draft, now, &rep)
		switch {
		case failed:
			invalid = append(invalid, report.FieldError{Field: rule.field, Reason: reason, Message: message})
		case message != "":
			notes = append(notes, rule.field+" "+message)
		}
	}
	if len(invalid) > 0 {
		return report.Report{}, nil, invalid
	}
	kept, metricNotes := keepMetrics(&draft)
	rep.Metrics = kept
	return rep, append(notes, metricNotes...), nil
}

// Reasons of refusal, as metav1.Status spells the types of causes.
const (
	reasonInvalid = "FieldValueInvalid"
	reasonMended  = ""
)

// A check looks at one thing and, when it holds, takes it over into the report.
// A message without failed is a note about something mended.
type check func(d *report.Draft, now time.Time, rep *report.Report) (reason, message string, failed bool)

var rules = []struct {
	field string
	check check
}{
	{"trainerStatus.progressPercentage", progressInRange},         // a bar beyond its ends says the sums behind it are wrong
	{"trainerStatus.estimatedRemainingSeconds", remainingInRange}, // time cannot be left over; too much of it is still an answer
	{"trainerStatus.lastUpdatedTime", timeReadable},               // a time nobody can read would make the order of reports a guess
	{"trainerStatus.lastUpdatedTime", timeNotAhead},               // a clock far ahead would shut out every later report
}
