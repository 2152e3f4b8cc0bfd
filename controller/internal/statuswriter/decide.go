// SPDX-License-Identifier: Apache-2.0

package statuswriter

import (
	"errors"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

// verdict is what is to be done with a report.
type verdict int

const (
	verdictWrite verdict = iota
	// verdictGone: the job is no more, or is another one of the same name.
	verdictGone
	// verdictEqual: the very value is stored already.
	verdictEqual
	// verdictSuperseded: another replica stored a newer report.
	verdictSuperseded
	// verdictUnreadable: what is stored cannot be read at present.
	verdictUnreadable
)

// String returns the verdict as a metric label.
func (v verdict) String() string {
	return [...]string{"write", "gone", "equal", "superseded", "unreadable"}[v]
}

// decide compares a report with what is stored.
func decide(p report.Pending, kept report.Kept, err error, now time.Time) verdict {
	switch {
	case errors.Is(err, report.ErrUnknownJob):
		return verdictGone
	case err != nil:
		return verdictUnreadable
	case kept.JobUID != p.JobUID:
		return verdictGone
	case kept.Report != nil && kept.Report.Equal(p.Report):
		return verdictEqual
	case !p.Wrote(kept) && kept.Newer(p.From, p.Report, now):
		return verdictSuperseded
	}
	return verdictWrite
}
