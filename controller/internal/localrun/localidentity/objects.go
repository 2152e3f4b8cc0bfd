// SPDX-License-Identifier: Apache-2.0

package localidentity

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/report"
)

// objects are those between a pod and its TrainJob, each controlled by the next.
type objects struct {
	pod, job, jobSet *metav1.PartialObjectMetadata
	jobUID           types.UID
}

func newObjects(job report.JobKey, jobUID types.UID, now time.Time) objects {
	jobSet := object(job.Namespace, job.Name, "jobset.x-k8s.io/v1alpha2", "JobSet", now)
	control(jobSet, trainer.GroupVersion.String(), trainer.TrainJobKind, job.Name, jobUID)
	child := object(job.Namespace, job.Name+"-node-0", "batch/v1", "Job", now)
	control(child, jobSet.APIVersion, jobSet.Kind, jobSet.Name, jobSet.UID)
	pod := object(job.Namespace, job.Name+"-node-0-0", "v1", "Pod", now)
	control(pod, child.APIVersion, child.Kind, child.Name, child.UID)
	return objects{pod: pod, job: child, jobSet: jobSet, jobUID: jobUID}
}

func object(namespace, name, apiVersion, kind string, now time.Time) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: uuid.NewUUID(), CreationTimestamp: metav1.NewTime(now),
		},
	}
}

func control(child *metav1.PartialObjectMetadata, apiVersion, kind, name string, uid types.UID) {
	child.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: apiVersion, Kind: kind, Name: name, UID: uid,
		Controller: new(true), BlockOwnerDeletion: new(true),
	}}
}

var _ ctrlclient.Reader = (*Identity)(nil)

// Get returns the metadata of one of the objects.
func (o *objects) Get(_ context.Context, key ctrlclient.ObjectKey, into ctrlclient.Object, _ ...ctrlclient.GetOption) error {
	wanted, ok := into.(*metav1.PartialObjectMetadata)
	if !ok {
		return fmt.Errorf("reading %s: a local run has metadata alone", key)
	}
	for _, have := range []*metav1.PartialObjectMetadata{o.pod, o.job, o.jobSet} {
		if have.GroupVersionKind() == wanted.GroupVersionKind() && have.Namespace == key.Namespace && have.Name == key.Name {
			have.DeepCopyInto(wanted)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: wanted.Kind}, key.String())
}

// List is not needed to prove a caller.
func (o *objects) List(context.Context, ctrlclient.ObjectList, ...ctrlclient.ListOption) error {
	return fmt.Errorf("listing: a local run has single objects alone")
}
