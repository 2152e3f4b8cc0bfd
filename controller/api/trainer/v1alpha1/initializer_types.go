// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// Initializer is what to fetch before the training starts.
type Initializer struct {
	// dataset to fetch and prepare.
	// +optional
	Dataset *DatasetInitializer `json:"dataset,omitempty"`

	// model to fetch, usually a pre-trained one.
	// +optional
	Model *ModelInitializer `json:"model,omitempty"`
}

// DatasetInitializer sets the part of the runtime's template that fetches the data set: the
// Job template labelled `trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer`.
type DatasetInitializer struct {
	// storageUri says where the data set is, as `scheme://…` (`hf://`, `s3://`, …), at most
	// 2048 characters. Empty leaves the choice to the runtime.
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[A-Za-z][A-Za-z0-9+.-]*://.+$')",message="storageUri may be empty, or it must be a valid URI (scheme://...)"
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	StorageUri *string `json:"storageUri,omitempty"`

	// env adds environment variables to those of the runtime's container, at most 128.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=128
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`

	// secretRef names a Secret in the namespace of the TrainJob. Its entries are what the
	// download needs to log in.
	// +optional
	SecretRef *corev1.LocalObjectReference `json:"secretRef,omitempty"`
}

// ModelInitializer sets the part of the runtime's template that fetches the model: the Job
// template labelled `trainer.kubeflow.org/trainjob-ancestor-step: model-initializer`.
type ModelInitializer struct {
	// storageUri says where the model is, as `scheme://…` (`hf://`, `s3://`, …), at most 2048
	// characters. Empty leaves the choice to the runtime.
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[A-Za-z][A-Za-z0-9+.-]*://.+$')",message="storageUri may be empty, or it must be a valid URI (scheme://...)"
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	StorageUri *string `json:"storageUri,omitempty"`

	// env adds environment variables to those of the runtime's container, at most 128.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=128
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`

	// secretRef names a Secret in the namespace of the TrainJob. Its entries are what the
	// download needs to log in.
	// +optional
	SecretRef *corev1.LocalObjectReference `json:"secretRef,omitempty"`
}
