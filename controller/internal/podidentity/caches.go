// SPDX-License-Identifier: Apache-2.0

package podidentity

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
)

// jobSetLabel is on every pod and Job that JobSet makes.
const jobSetLabel = "jobset.sigs.k8s.io/jobset-name"

// CacheOptions returns what the manager's cache has to know about the kinds
// that are read here: only pods and Jobs of JobSets, and of each only what the
// proof needs. Objects of the same kinds that others read in full stay whole.
func CacheOptions() (map[ctrlclient.Object]ctrlcache.ByObject, error) {
	ofJobSet, err := labels.NewRequirement(jobSetLabel, selection.Exists, nil)
	if err != nil {
		return nil, fmt.Errorf("selecting pods of JobSets: %w", err)
	}
	selector := labels.NewSelector().Add(*ofJobSet)
	return map[ctrlclient.Object]ctrlcache.ByObject{
		newMetadata(podKind):    {Label: selector, Transform: strip},
		newMetadata(jobKind):    {Label: selector, Transform: strip},
		newMetadata(jobSetKind): {Transform: strip},
	}, nil
}

// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=list;watch
// +kubebuilder:rbac:groups=jobset.x-k8s.io,resources=jobsets,verbs=list;watch

// Watch starts the informers, so that the first report does not wait for them.
// It is called before the manager starts.
func Watch(ctx context.Context, informers ctrlcache.Informers) error {
	for _, kind := range []schema.GroupVersionKind{podKind, jobKind, jobSetKind} {
		if _, err := informers.GetInformer(ctx, newMetadata(kind), ctrlcache.BlockUntilSynced(false)); err != nil {
			return fmt.Errorf("watching metadata of %s: %w", kind.Kind, err)
		}
	}
	return nil
}

// strip leaves of an object what the proof reads. It is what keeps tens of
// thousands of pods in a few megabytes.
func strip(obj any) (any, error) {
	object, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil
	}
	kept := &metav1.PartialObjectMetadata{
		TypeMeta: object.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Name: object.Name, Namespace: object.Namespace, UID: object.UID,
			ResourceVersion: object.ResourceVersion, CreationTimestamp: object.CreationTimestamp,
		},
	}
	if ref := metav1.GetControllerOf(object); ref != nil {
		kept.OwnerReferences = []metav1.OwnerReference{*ref}
	}
	return kept, nil
}
