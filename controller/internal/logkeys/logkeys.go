// SPDX-License-Identifier: Apache-2.0

// Package logkeys holds the names under which values stand in structured log
// lines, so that one search finds every line about one object.
//
// It owns names only. It does not log and it imports nothing. Objects are
// logged as klog.KObj values; tokens and metric values are never logged.
package logkeys

const (
	// TrainJob is the TrainJob a line is about.
	TrainJob = "trainJob"
	// JobSet is the JobSet made from a TrainJob.
	JobSet = "jobSet"
	// Runtime is the TrainingRuntime or ClusterTrainingRuntime a TrainJob names.
	Runtime = "runtime"
	// Pod is the pod that runs, or that sent a report.
	Pod = "pod"
	// Reporter is the proven identity of the sender of a report.
	Reporter = "reporter"
	// ReportTime is the time a report says it was taken at.
	ReportTime = "reportTime"
	// ConfigMap is a ConfigMap the controller reads or writes.
	ConfigMap = "configMap"
	// Secret is a Secret the controller reads or writes. Its content never is.
	Secret = "secret"
	// ManagedBy is the controller named by spec.managedBy.
	ManagedBy = "managedBy"
	// State is the word behind the STATE column.
	State = "state"
	// Deadline is the moment a TrainJob has to end.
	Deadline = "deadline"
	// RequeueAfter is the wait before an object is looked at again.
	RequeueAfter = "requeueAfter"
)
