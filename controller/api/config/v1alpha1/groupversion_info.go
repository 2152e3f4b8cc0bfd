// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the Go form of the manager's configuration file: kind Configuration of
// config.trainer.kubeflow.org/v1alpha1.
//
// It owns field names and defaults. It does not own reading the file or judging its values, nor
// what a value does; see internal/config. A file written for Kubeflow Trainer v2.3 has the same
// meaning here, except for the rate of the status endpoint, whose default is higher.
//
// +kubebuilder:object:generate=true
// +groupName=config.trainer.kubeflow.org
package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the apiVersion of the file.
	GroupVersion = schema.GroupVersion{Group: "config.trainer.kubeflow.org", Version: "v1alpha1"}

	// SchemeBuilder collects what AddToScheme registers.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes, RegisterDefaults)

	// AddToScheme registers Configuration and its defaults.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Configuration{})
	return nil
}
