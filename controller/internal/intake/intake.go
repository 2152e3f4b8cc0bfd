// SPDX-License-Identifier: Apache-2.0

// Package intake is the HTTPS door of the report flow.
//
// It owns the listener and its limits, the order of the steps at the door, the
// JSON of requests and answers, and the choice of status codes. It does not own
// the proof of the caller, the rules of a report or what becomes of it: those
// are behind the interfaces below, which the manager and the local run fill
// with different parts.
package intake

import (
	"context"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

// Identity proves a caller.
type Identity interface {
	// Identify returns who presents the bearer token and that the caller may
	// report for the job. A *report.Refusal says why not: ErrUnproven,
	// ErrOtherJob, ErrUnknownJob or ErrUnavailable.
	Identify(ctx context.Context, bearer string, job report.JobKey) (report.Sender, error)
}

// Rules turn what was sent into what may be stored.
type Rules interface {
	// Check returns the report with a sentence for each detail that was mended
	// or left out, or report.Invalid when the report breaks a rule.
	Check(draft report.Draft) (report.Report, []string, error)
}

// Store keeps reports.
type Store interface {
	// Submit keeps the report as the newest of its job unless a newer one is
	// known. A final report returns only once it, or a newer report of its job,
	// is stored: otherwise the error is a *report.Refusal with ErrNotStored. A
	// job that is gone by then gives ErrUnknownJob.
	Submit(ctx context.Context, from report.Sender, rep report.Report) (report.Outcome, error)
	// Newest returns the newest report of the sender's job, stored or about to
	// be; nil when there is none.
	Newest(ctx context.Context, from report.Sender) (*report.Report, error)
}

// Observer hears what happens at the door. Implementations must not block.
type Observer interface {
	// Answered is called once per request with the status code and the seconds
	// from the end of the request's header to the end of the answer.
	Answered(method string, code int, seconds float64)
	// Refused is called with the reason of a refusal by identity.
	Refused(reason string)
	// Limited is called with the limit that turned a request away.
	Limited(limit string)
}
