// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TrainJobState says in one word what a TrainJob is doing.
//
// +kubebuilder:validation:Enum=Created;Running;Suspended;Blocked;Complete;Failed
type TrainJobState string

const (
	// TrainJobStateCreated means that the job was accepted and its training pods are not all up
	// yet.
	TrainJobStateCreated TrainJobState = "Created"

	// TrainJobStateRunning means that all training pods have come up and the training goes on.
	TrainJobStateRunning TrainJobState = "Running"

	// TrainJobStateSuspended means that spec.suspend holds the job back.
	TrainJobStateSuspended TrainJobState = "Suspended"

	// TrainJobStateBlocked means that objects the job is made of could not be created. An
	// event on the TrainJob says why; the controller keeps trying.
	TrainJobStateBlocked TrainJobState = "Blocked"

	// TrainJobStateComplete means that the training succeeded. It is terminal.
	TrainJobStateComplete TrainJobState = "Complete"

	// TrainJobStateFailed means that the training ended without success. It is terminal.
	TrainJobStateFailed TrainJobState = "Failed"
)

// TrainJobStatus is what was last seen of a TrainJob.
//
// +kubebuilder:validation:MinProperties=1
type TrainJobStatus struct {
	// conditions are the turning points of the job, at most 8: Suspended, Complete, Failed.
	// A job that was never suspended and has not ended has none.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// jobsStatus counts the child Jobs of each replicated job of the runtime, at most 100 entries.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	// +optional
	JobsStatus []JobStatus `json:"jobsStatus,omitempty"`

	// trainerStatus is the newest report of the training code about itself. It is absent until
	// the first report and stays when the job ends. Only the status endpoint writes it, and
	// only where the feature gate TrainJobStatus is on.
	// +optional
	TrainerStatus *TrainerStatus `json:"trainerStatus,omitempty"`

	// lastUpdatedNanos is the fraction of a second, in nanoseconds from 0 to 999999999, that
	// trainerStatus.lastUpdatedTime lacks. It orders reports of the same second. Only the status
	// endpoint writes it, together with trainerStatus.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=999999999
	// +optional
	LastUpdatedNanos *int32 `json:"lastUpdatedNanos,omitempty"`

	// state says in one word what the job is doing now. Created: accepted, its training pods are
	// not all up yet. Running: all of them have come up and the training goes on. Suspended:
	// spec.suspend holds it back. Blocked: objects it is made of could not be created, see its
	// events. Complete: the training succeeded. Failed: it ended without success. The last two
	// are final. It is absent until the controller has seen the job, and where another
	// controller manages it.
	// +optional
	State TrainJobState `json:"state,omitempty"`
}

// JobStatus counts the child Jobs that one replicated job of the runtime led to.
type JobStatus struct {
	// name of the replicated job, 1 to 253 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name,omitempty"`

	// ready is how many Jobs have all their pods ready or completed, at least 0.
	// +kubebuilder:validation:Minimum=0
	// +required
	Ready *int32 `json:"ready,omitempty"`

	// succeeded is how many Jobs ended with success, at least 0.
	// +kubebuilder:validation:Minimum=0
	// +required
	Succeeded *int32 `json:"succeeded,omitempty"`

	// failed is how many Jobs failed, at least 0.
	// +kubebuilder:validation:Minimum=0
	// +required
	Failed *int32 `json:"failed,omitempty"`

	// active is how many Jobs have at least one pod pending or running and are not being
	// deleted, at least 0.
	// +kubebuilder:validation:Minimum=0
	// +required
	Active *int32 `json:"active,omitempty"`

	// suspended is how many Jobs are suspended, at least 0.
	// +kubebuilder:validation:Minimum=0
	// +required
	Suspended *int32 `json:"suspended,omitempty"`
}

// TrainerStatus is a report of the training code about itself.
//
// +kubebuilder:validation:XValidation:rule="has(self.lastUpdatedTime)",message="lastUpdatedTime is required when trainerStatus is present"
type TrainerStatus struct {
	// progressPercentage is the share of the training that is done, in percent from 0 to 100.
	// Absent means unknown. It may fall when a job resumes from an older checkpoint.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	ProgressPercentage *int32 `json:"progressPercentage,omitempty"`

	// estimatedRemainingSeconds is how long the training will still take, in seconds, at least 0.
	// Absent means unknown.
	// +kubebuilder:validation:Minimum=0
	// +optional
	EstimatedRemainingSeconds *int32 `json:"estimatedRemainingSeconds,omitempty"`

	// metrics are the newest measured values, in the order of the report, at most 256.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +optional
	Metrics []Metric `json:"metrics,omitempty"`

	// lastUpdatedTime is when the training code made the report, in whole seconds.
	// +optional
	LastUpdatedTime metav1.Time `json:"lastUpdatedTime,omitempty"`
}

// Metric is one measured value. Names are not unique: a report may hold two of the same name.
type Metric struct {
	// name that the training code gave it, such as `loss`, 1 to 64 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	Name string `json:"name,omitempty"`

	// value as text, 1 to 64 characters, kept as it was sent. Numbers are written as text too,
	// those that are not finite included.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	Value string `json:"value,omitempty"`
}

// UpdateTrainJobStatusRequest is the body of a report sent to the status endpoint. It is no
// object of the API server.
type UpdateTrainJobStatusRequest struct {
	// trainerStatus is the report. It replaces the one before it as a whole: what is left out is
	// cleared. Without it the request changes nothing.
	// +optional
	TrainerStatus *TrainerStatus `json:"trainerStatus,omitempty"`
}
