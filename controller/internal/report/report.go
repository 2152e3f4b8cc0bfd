// SPDX-License-Identifier: Apache-2.0

// Package report holds the plain values that the stages of the report flow pass
// to each other: the report, its job, its sender, and the ways a stage says no.
//
// It owns these values and their comparison. It does not own their JSON form
// (intake, statuswriter), their rules (reportrules) or how long they are kept
// (latest). It imports no other package of the project.
package report

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// FinalPercentage is the progress that marks a report as final.
const FinalPercentage = 100

// MaxAhead is how far ahead of the server's clock the time of a report may be.
const MaxAhead = 5 * time.Minute

// JobKey names a TrainJob. It says nothing about which life of that name is
// meant: that is the UID.
type JobKey struct {
	Namespace string
	Name      string
}

// String returns "namespace/name".
func (k JobKey) String() string { return k.Namespace + "/" + k.Name }

// Metric is one named value, both as text. Numbers are not parsed anywhere.
type Metric struct {
	Name  string
	Value string
}

// Report is one checked report, as it will be stored. Values are never changed
// once a Report has been handed on, so stages may share them.
type Report struct {
	// ProgressPercentage is 0–100; nil means unknown.
	ProgressPercentage *int32
	// EstimatedRemainingSeconds is 0 or more; nil means unknown.
	EstimatedRemainingSeconds *int32
	// Metrics holds at most 256 entries in the order sent; names may repeat.
	Metrics []Metric
	// LastUpdatedTime is in UTC and whole seconds.
	LastUpdatedTime time.Time
	// SentTime is LastUpdatedTime before its fraction was dropped. It orders two
	// reports of one second. Zero means that only LastUpdatedTime is known.
	SentTime time.Time
}

// Final tells whether the report says that training is complete.
func (r Report) Final() bool {
	return r.ProgressPercentage != nil && *r.ProgressPercentage == FinalPercentage
}

// OrderTime is the time by which reports of one pod are ordered.
func (r Report) OrderTime() time.Time {
	if r.SentTime.IsZero() {
		return r.LastUpdatedTime
	}
	return r.SentTime
}

// After tells whether the report was made after another one. Where only the
// second of one of them is known, both count by their seconds.
func (r Report) After(o Report) bool {
	if r.SentTime.IsZero() || o.SentTime.IsZero() {
		return r.LastUpdatedTime.After(o.LastUpdatedTime)
	}
	return r.SentTime.After(o.SentTime)
}

// Equal tells whether both reports would be stored as the same value. Two that
// differ in the fraction of their second would not: a later one in between has to
// be told from both.
func (r Report) Equal(o Report) bool {
	return r.SentTime.Equal(o.SentTime) &&
		equalInt(r.ProgressPercentage, o.ProgressPercentage) &&
		equalInt(r.EstimatedRemainingSeconds, o.EstimatedRemainingSeconds) &&
		r.LastUpdatedTime.Equal(o.LastUpdatedTime) &&
		slices.Equal(r.Metrics, o.Metrics)
}

func equalInt(a, b *int32) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// Sender is a proven caller together with the TrainJob it may report for.
type Sender struct {
	Job JobKey
	// JobUID is the UID of the TrainJob of today.
	JobUID types.UID
	// Pod and PodUID are empty for a caller that was accepted through RBAC.
	Pod    string
	PodUID types.UID
	// PodCreated is when the API server created the pod; zero when not known.
	PodCreated time.Time
	// User is the name of the caller as the API server would say it.
	User string
}

// Reporter is the identity by which reports are ordered and limited: the pod
// where there is one, else the user.
func (s Sender) Reporter() string {
	if s.PodUID != "" {
		return string(s.PodUID)
	}
	return s.User
}

// Outcome is what became of a report that was not refused.
type Outcome int

const (
	// Accepted means kept as the newest of its job and not yet stored.
	Accepted Outcome = iota
	// Stored means that it, or a newer report of its job, is stored.
	Stored
	// Superseded means that a newer report was known and this one was dropped.
	Superseded
	// Trimmed means that it is stored without its metrics, with which the
	// TrainJob would have been too large.
	Trimmed
)

// String returns the outcome as a metric label.
func (o Outcome) String() string {
	switch o {
	case Accepted:
		return "accepted"
	case Stored:
		return "stored"
	case Trimmed:
		return "trimmed"
	case Superseded:
		return "superseded"
	}
	return "unknown"
}

// Kept is what is stored for a TrainJob at present.
type Kept struct {
	// JobUID is the UID of the TrainJob of today.
	JobUID types.UID
	// Report is nil when nothing was ever reported.
	Report *Report
	// Version orders two states of the same job, as a resource version does.
	// Empty where the store has no versions.
	Version string
	// WrittenTime is when the store took Report, by the store's clock; zero
	// when not known.
	WrittenTime time.Time
}
