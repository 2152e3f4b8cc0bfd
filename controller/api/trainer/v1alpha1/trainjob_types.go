// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TrainJob is one training run: which runtime to use, what to run in it, and how far it is.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`,description="What the job is doing now."
// +kubebuilder:printcolumn:name="Progress",type=integer,JSONPath=`.status.trainerStatus.progressPercentage`,description="Share of the training that is done, in percent, as last reported."
// +kubebuilder:printcolumn:name="ETA",type=integer,JSONPath=`.status.trainerStatus.estimatedRemainingSeconds`,description="Remaining training time in seconds, as last reported."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must match RFC 1035 DNS label format"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name must be no more than 63 characters"
type TrainJob struct {
	metav1.TypeMeta `json:",inline"`

	// metadata of the TrainJob. Its name becomes part of host names, so it must be a DNS
	// label of RFC 1035: 1 to 63 lower-case letters, digits and hyphens, starting with a letter.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what should run.
	// +optional
	Spec TrainJobSpec `json:"spec,omitzero"`

	// status is what was last seen. The controller and the status endpoint write it.
	// +optional
	Status TrainJobStatus `json:"status,omitzero"`
}

// TrainJobList is a page of TrainJobs.
//
// +kubebuilder:object:root=true
type TrainJobList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata of the list: resource version and continue token.
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the TrainJobs of this page.
	Items []TrainJob `json:"items"`
}

// TrainJobSpec is the wanted training run.
type TrainJobSpec struct {
	// runtimeRef names the runtime that the job is built from. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="field is immutable"
	// +required
	RuntimeRef RuntimeRef `json:"runtimeRef,omitzero"`

	// initializer fetches a data set and a model before training. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="field is immutable"
	// +optional
	Initializer *Initializer `json:"initializer,omitempty"`

	// trainer sets what the training containers run and how many there are. What is left out
	// comes from the runtime. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="field is immutable"
	// +optional
	Trainer *Trainer `json:"trainer,omitempty"`

	// runtimePatches change the runtime's template for this job alone, at most 16 patches.
	// Each belongs to one manager, so that two of them cannot overwrite each other.
	// +listType=map
	// +listMapKey=manager
	// +kubebuilder:validation:MaxItems=16
	// +optional
	RuntimePatches []RuntimePatch `json:"runtimePatches,omitempty"`

	// suspend holds the job back: true deletes its running pods or keeps them from starting,
	// false lets it run. Defaults to false.
	// +kubebuilder:default=false
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// activeDeadlineSeconds limits how long the job may be active, in seconds, at least 1.
	// Time counts from its creation, and anew from each resume. Past the limit its pods are
	// deleted and it fails with the reason DeadlineExceeded. Absent means no limit.
	// It cannot be changed.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="field is immutable"
	// +optional
	ActiveDeadlineSeconds int64 `json:"activeDeadlineSeconds,omitempty"`

	// managedBy says who runs the job. With `trainer.kubeflow.org/trainjob-controller`, the
	// default, it is the TrainJob controller. With `kueue.x-k8s.io/multikueue` it is Kueue,
	// and the TrainJob controller leaves the job alone. It cannot be changed.
	// +kubebuilder:default="trainer.kubeflow.org/trainjob-controller"
	// +kubebuilder:validation:XValidation:rule="self in ['trainer.kubeflow.org/trainjob-controller', 'kueue.x-k8s.io/multikueue']",message="ManagedBy must be trainer.kubeflow.org/trainjob-controller or kueue.x-k8s.io/multikueue if set"
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="field is immutable"
	// +optional
	ManagedBy *string `json:"managedBy,omitempty"`
}

// RuntimeRef points at a training runtime.
type RuntimeRef struct {
	// name of the runtime, 1 to 253 characters. A TrainingRuntime is looked up in the
	// namespace of the TrainJob.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name,omitempty"`

	// apiGroup of the runtime. Defaults to `trainer.kubeflow.org`.
	// +kubebuilder:default="trainer.kubeflow.org"
	// +kubebuilder:validation:MaxLength=253
	// +optional
	APIGroup *string `json:"apiGroup,omitempty"`

	// kind of the runtime: TrainingRuntime or ClusterTrainingRuntime, the default.
	// +kubebuilder:default="ClusterTrainingRuntime"
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Kind *string `json:"kind,omitempty"`
}

// Trainer sets the part of the runtime's template that trains: the container `node` of the
// Job template with the label `trainer.kubeflow.org/trainjob-ancestor-step: trainer`.
type Trainer struct {
	// image replaces the container image, at most 500 characters.
	// +kubebuilder:validation:MaxLength=500
	// +optional
	Image *string `json:"image,omitempty"`

	// command replaces the entrypoint: at most 128 items of at most 1048576 characters each.
	// Training code written inline travels in such an item, hence its size.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=1048576
	// +optional
	Command []string `json:"command,omitempty"`

	// args replace the arguments of the entrypoint, with the limits of command.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=1048576
	// +optional
	Args []string `json:"args,omitempty"`

	// env adds environment variables to those of the runtime, at most 128. For a name that
	// both set, the value given here counts.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=128
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`

	// numNodes is how many training pods run. Absent means the number of the runtime.
	// +optional
	NumNodes *int32 `json:"numNodes,omitempty"`

	// resourcesPerNode sets compute resources of each training container.
	// +optional
	ResourcesPerNode *corev1.ResourceRequirements `json:"resourcesPerNode,omitempty"`

	// numProcPerNode is how many training processes run in each pod. With MPI it is the number
	// of slots of a host. With torch, absent means one per GPU or, without GPUs, per CPU.
	// +optional
	NumProcPerNode *int32 `json:"numProcPerNode,omitempty"`
}
