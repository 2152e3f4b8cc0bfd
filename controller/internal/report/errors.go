// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The ways a stage says no. Intake alone turns them into status codes.
var (
	// ErrUnproven: no credential, or one that proves nothing (401).
	ErrUnproven = errors.New("caller is not proven")
	// ErrOtherJob: a proven caller that may not report for this job (403).
	ErrOtherJob = errors.New("caller may not report for this TrainJob")
	// ErrUnknownJob: a proven caller, but there is no such TrainJob (404).
	ErrUnknownJob = errors.New("TrainJob not found")
	// ErrNotStored: a final report that could not be stored in time (503).
	ErrNotStored = errors.New("report is not stored yet")
	// ErrUnavailable: the question could not be decided now (503).
	ErrUnavailable = errors.New("service is not available at present")
	// ErrConflict: what is stored changed since it was read. Between writer and
	// store only; no caller sees it.
	ErrConflict = errors.New("stored value changed meanwhile")
	// ErrTooLarge: with the report the TrainJob is larger than can be stored.
	// Between writer and store only, unless not even a report without metrics
	// fits.
	ErrTooLarge = errors.New("TrainJob would be too large")
	// ErrTooMany: the caller or the server is over its share (429).
	ErrTooMany = errors.New("too many requests")
)

// Refusal is a sentinel above with the words for the caller, the reason for the
// metrics and, where it makes sense, the time after which to try again.
type Refusal struct {
	// Err is one of the sentinels of this package.
	Err error
	// Reason is one lowerCamel word from a small fixed set: a metric label.
	Reason string
	// Message is fit for the caller to read; it never holds a credential.
	Message string
	// RetryAfter is 0 when trying again is pointless.
	RetryAfter time.Duration
	// Cause is for the log only and may be nil.
	Cause error
}

// Refuse returns a Refusal without a cause.
func Refuse(err error, reason, message string) *Refusal {
	return &Refusal{Err: err, Reason: reason, Message: message}
}

// Error returns what the log should hold.
func (r *Refusal) Error() string {
	if r.Cause != nil {
		return fmt.Sprintf("%v: %s: %v", r.Err, r.Message, r.Cause)
	}
	return fmt.Sprintf("%v: %s", r.Err, r.Message)
}

// Unwrap gives errors.Is and errors.As both the sentinel and the cause.
func (r *Refusal) Unwrap() []error {
	if r.Cause == nil {
		return []error{r.Err}
	}
	return []error{r.Err, r.Cause}
}

// FieldError is one broken rule of a report.
type FieldError struct {
	// Field is the JSON path, such as trainerStatus.progressPercentage.
	Field string
	// Reason is a cause type of metav1.Status, such as FieldValueInvalid.
	Reason string
	// Message is fit for the caller to read.
	Message string
}

// Invalid is the error of a report that breaks rules (422). It is never empty.
type Invalid []FieldError

// Error joins all broken rules.
func (e Invalid) Error() string {
	parts := make([]string, 0, len(e))
	for _, f := range e {
		if f.Field == "" {
			parts = append(parts, f.Message)
			continue
		}
		parts = append(parts, f.Field+": "+f.Message)
	}
	return strings.Join(parts, "; ")
}
