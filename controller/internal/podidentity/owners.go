// SPDX-License-Identifier: Apache-2.0

package podidentity

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

var (
	podKind    = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	jobKind    = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	jobSetKind = schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"}
	trainJob   = schema.GroupKind{Group: "trainer.kubeflow.org", Kind: "TrainJob"}
)

// ownerMemo holds the UID of the TrainJob that a pod belongs to.
type ownerMemo struct {
	uid atomic.Pointer[types.UID]
}

// podOf completes the sender with the pod of the proof. The refusal says why
// the caller is no pod of the job; the error that it could not be found out.
func (i *Identifier) podOf(ctx context.Context, p *proof, from *report.Sender) (*report.Refusal, error) {
	if p.pod.Name == "" {
		return refuse("noPod", "the token is bound to no pod"), nil
	}
	pod, err := i.lookUp(ctx, p, podKind, p.pod.Name, p.pod.UID)
	if err != nil {
		return nil, err
	}
	if pod == nil {
		return refuse("noPodOfJob", "the pod of the token is gone or is no pod of a TrainJob"), nil
	}
	owner := p.owner.uid.Load()
	if owner == nil {
		uid, refusal, err := i.trainJobOf(ctx, p, pod, from.Job.Name)
		if refusal != nil || err != nil {
			return refusal, err
		}
		owner = &uid
		p.owner.uid.Store(owner)
	}
	if *owner != from.JobUID {
		uid, err := i.findJob(ctx, p, from.Job)
		if err != nil {
			return nil, err
		}
		if *owner != uid {
			return refuse("otherLife", "the pod belongs to an earlier TrainJob of this name"), nil
		}
		from.JobUID = uid
	}
	from.Pod, from.PodUID, from.PodCreated = p.pod.Name, p.pod.UID, pod.CreationTimestamp.Time
	return nil, nil
}

func refuse(reason, message string) *report.Refusal {
	return report.Refuse(report.ErrOtherJob, reason, message)
}

// trainJobOf follows the controllers of a pod up to its TrainJob.
func (i *Identifier) trainJobOf(ctx context.Context, p *proof, pod *metav1.PartialObjectMetadata, name string) (types.UID, *report.Refusal, error) {
	object := pod
	for _, kind := range []schema.GroupVersionKind{jobKind, jobSetKind} {
		ref := controllerOf(object, kind.GroupKind())
		if ref == nil {
			return "", refuse("noPodOfJob", "the pod is no pod of a TrainJob"), nil
		}
		owner, err := i.lookUp(ctx, p, kind, ref.Name, ref.UID)
		if err != nil {
			return "", nil, err
		}
		if owner == nil {
			return "", refuse("ownerGone", fmt.Sprintf("the %s of the pod is gone", kind.Kind)), nil
		}
		object = owner
	}
	ref := controllerOf(object, trainJob)
	if ref == nil || ref.Name != name {
		return "", refuse("otherJob", "the pod belongs to another TrainJob"), nil
	}
	return ref.UID, nil, nil
}

// controllerOf returns the owner reference that a controller of the kind wrote.
func controllerOf(object *metav1.PartialObjectMetadata, kind schema.GroupKind) *metav1.OwnerReference {
	ref := metav1.GetControllerOfNoCopy(object)
	if ref == nil || ref.Kind != kind.Kind || ref.BlockOwnerDeletion == nil || !*ref.BlockOwnerDeletion {
		return nil
	}
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	if group != kind.Group {
		return nil
	}
	return ref
}

// metadata reads an object from the cache; nil when there is none. The object
// must not be changed.
func (i *Identifier) metadata(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	object := newMetadata(kind)
	key := types.NamespacedName{Namespace: namespace, Name: name}
	err := i.reader.Get(ctx, key, object, &ctrlclient.GetOptions{UnsafeDisableDeepCopy: new(true)})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %q: %w", kind.Kind, key, err)
	}
	return object, nil
}

func newMetadata(kind schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	return object
}
