// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RuntimePatch is what one manager changes in the runtime's template for one TrainJob.
type RuntimePatch struct {
	// manager owns this patch, 1 to 253 characters, as a path with a domain in front such as
	// `kueue.x-k8s.io/manager`. It cannot be changed.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="field is immutable"
	// +required
	Manager string `json:"manager,omitempty"`

	// time at which the patch was last changed. The admission webhook sets it; nothing reads it
	// but people.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`

	// trainingRuntimeSpec is the patch, for a TrainingRuntime as for a ClusterTrainingRuntime.
	// +optional
	TrainingRuntimeSpec *TrainingRuntimeSpecPatch `json:"trainingRuntimeSpec,omitempty"`
}

// TrainingRuntimeSpecPatch is the part of TrainingRuntimeSpec that can be patched.
type TrainingRuntimeSpecPatch struct {
	// template patches the JobSet template.
	// +optional
	Template *JobSetTemplatePatch `json:"template,omitempty"`
}

// JobSetTemplatePatch is the part of JobSetTemplateSpec that can be patched.
type JobSetTemplatePatch struct {
	// metadata adds labels and annotations to the JobSet. Other metadata has no effect.
	// +optional
	Metadata *metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec patches the JobSet.
	// +optional
	Spec *JobSetSpecPatch `json:"spec,omitempty"`
}

// JobSetSpecPatch is the part of a JobSet spec that can be patched.
type JobSetSpecPatch struct {
	// replicatedJobs patches replicated jobs of the runtime, each found by its name, at most 100.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	// +optional
	ReplicatedJobs []ReplicatedJobPatch `json:"replicatedJobs,omitempty"`
}

// ReplicatedJobPatch patches one replicated job.
type ReplicatedJobPatch struct {
	// name of a replicated job that the runtime has, 1 to 253 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name,omitempty"`

	// template patches the Job template.
	// +optional
	Template *JobTemplatePatch `json:"template,omitempty"`
}

// JobTemplatePatch is the part of a Job template that can be patched.
type JobTemplatePatch struct {
	// metadata adds labels and annotations to the Job. Other metadata has no effect.
	// +optional
	Metadata *metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec patches the Job.
	// +optional
	Spec *JobSpecPatch `json:"spec,omitempty"`
}

// JobSpecPatch is the part of a Job spec that can be patched.
type JobSpecPatch struct {
	// template patches the Pod template.
	// +optional
	Template *PodTemplatePatch `json:"template,omitempty"`
}

// PodTemplatePatch is the part of a Pod template that can be patched.
type PodTemplatePatch struct {
	// metadata adds labels and annotations to the Pods. Other metadata has no effect.
	// +optional
	Metadata *metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec patches the Pods.
	// +optional
	Spec *PodSpecPatch `json:"spec,omitempty"`
}

// PodSpecPatch is the part of a Pod spec that can be patched. Fields marked as fixed keep the
// value they were first given; the others may change while the TrainJob is suspended, as Kueue
// does on admission.
type PodSpecPatch struct {
	// serviceAccountName is the service account of the Pods, at most 253 characters. Fixed.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="field is immutable"
	// +optional
	ServiceAccountName *string `json:"serviceAccountName,omitempty"`

	// volumes are added to the Pods or change those of the same name, at most 128. Fixed.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="field is immutable"
	// +optional
	Volumes []corev1.Volume `json:"volumes,omitempty"`

	// initContainers changes init containers of the runtime, at most 64. Fixed.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="field is immutable"
	// +optional
	InitContainers []ContainerPatch `json:"initContainers,omitempty"`

	// containers changes containers of the runtime, at most 64. Fixed.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="field is immutable"
	// +optional
	Containers []ContainerPatch `json:"containers,omitempty"`

	// imagePullSecrets are added to the Pods, at most 64. Fixed.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="field is immutable"
	// +optional
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// securityContext of the Pods. Fixed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="field is immutable"
	// +optional
	SecurityContext *corev1.PodSecurityContext `json:"securityContext,omitempty"`

	// nodeSelector limits the Pods to nodes with these labels.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// affinity states which nodes and neighbours the Pods want.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// tolerations let the Pods run on tainted nodes, at most 128. They replace the list of the
	// runtime.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// schedulingGates keep the Pods from being scheduled until each gate is taken away, at most 16.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +optional
	SchedulingGates []corev1.PodSchedulingGate `json:"schedulingGates,omitempty"`

	// terminationGracePeriodSeconds is the time a Pod has to stop by itself, in seconds, at
	// least 0. Fixed.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="field is immutable"
	// +optional
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`
}

// ContainerPatch is the part of a container that can be patched.
type ContainerPatch struct {
	// name of a container that the runtime has, 1 to 253 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name,omitempty"`

	// env adds environment variables to those of the runtime, at most 128. It is refused for
	// the containers `node`, `dataset-initializer` and `model-initializer`: spec.trainer and
	// spec.initializer set theirs.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=128
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`

	// volumeMounts are added to those of the runtime, at most 128.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=128
	// +optional
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`

	// securityContext of the container.
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
}
