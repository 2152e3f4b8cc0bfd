// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the Go form of the API group trainer.kubeflow.org, version
// v1alpha1: TrainJob, TrainingRuntime and ClusterTrainingRuntime.
//
// It owns the field names, defaults, limits and CEL rules of these kinds; the CRDs are
// generated from it. It does not own behaviour: nothing here reads a cluster or decides a
// status. The wire form is that of Kubeflow Trainer v2.3 plus the optional fields
// status.state and status.lastUpdatedNanos, and Go type and field names are the same, so
// that code written for one compiles against the other.
//
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +kubebuilder:ac:output:package="../../applyconfiguration"
// +groupName=trainer.kubeflow.org
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of every kind in this package.
const GroupName = "trainer.kubeflow.org"

var (
	// GroupVersion is the group and version under which the kinds are served.
	GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

	// SchemeGroupVersion is the name client-go generators expect for GroupVersion.
	SchemeGroupVersion = GroupVersion

	// SchemeBuilder collects what AddToScheme registers.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers the kinds of this package and their lists.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Resource returns the group-qualified form of a resource name such as "trainjobs".
func Resource(resource string) schema.GroupResource {
	return GroupVersion.WithResource(resource).GroupResource()
}

// Kind returns the group-qualified form of a kind such as TrainJobKind.
func Kind(kind string) schema.GroupKind {
	return GroupVersion.WithKind(kind).GroupKind()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&TrainJob{},
		&TrainJobList{},
		&TrainingRuntime{},
		&TrainingRuntimeList{},
		&ClusterTrainingRuntime{},
		&ClusterTrainingRuntimeList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
