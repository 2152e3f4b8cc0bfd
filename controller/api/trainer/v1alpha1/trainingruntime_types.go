// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// ClusterTrainingRuntime is a template for training runs that TrainJobs of every namespace can
// name in spec.runtimeRef.
//
// +genclient
// +genclient:nonNamespaced
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:storageversion
type ClusterTrainingRuntime struct {
	metav1.TypeMeta `json:",inline"`

	// metadata of the ClusterTrainingRuntime.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the template.
	// +optional
	Spec TrainingRuntimeSpec `json:"spec,omitzero"`
}

// ClusterTrainingRuntimeList is a page of ClusterTrainingRuntimes.
//
// +kubebuilder:object:root=true
type ClusterTrainingRuntimeList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata of the list: resource version and continue token.
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the runtimes of this page.
	Items []ClusterTrainingRuntime `json:"items"`
}

// TrainingRuntime is a template for training runs that TrainJobs of the same namespace can name
// in spec.runtimeRef.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource
// +kubebuilder:storageversion
type TrainingRuntime struct {
	metav1.TypeMeta `json:",inline"`

	// metadata of the TrainingRuntime.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the template.
	// +optional
	Spec TrainingRuntimeSpec `json:"spec,omitempty,omitzero"`
}

// TrainingRuntimeList is a page of TrainingRuntimes.
//
// +kubebuilder:object:root=true
type TrainingRuntimeList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata of the list: resource version and continue token.
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the runtimes of this page.
	Items []TrainingRuntime `json:"items"`
}

// TrainingRuntimeSpec is the template of a training run.
//
// +kubebuilder:validation:MinProperties=1
type TrainingRuntimeSpec struct {
	// mlPolicy says how many nodes train and how the framework learns of its peers.
	// +optional
	MLPolicy *MLPolicy `json:"mlPolicy,omitempty"`

	// podGroupPolicy makes a scheduler start all pods of the run together or none.
	// +optional
	PodGroupPolicy *PodGroupPolicy `json:"podGroupPolicy,omitempty"`

	// template of the JobSet that is made for each TrainJob.
	// +optional
	Template JobSetTemplateSpec `json:"template,omitzero"`
}

// JobSetTemplateSpec is the JobSet that is made for each TrainJob.
//
// +kubebuilder:validation:MinProperties=1
type JobSetTemplateSpec struct {
	// metadata gives the JobSet its labels and annotations. Its name and namespace are those of
	// the TrainJob.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec of the JobSet, before the TrainJob and the policies fill it in.
	// +optional
	Spec jobsetv1alpha2.JobSetSpec `json:"spec,omitempty"`
}
