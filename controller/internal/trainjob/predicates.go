// SPDX-License-Identifier: Apache-2.0

package trainjob

import (
	"bytes"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// trainJobChanged lets through what can lead to work. A report changes
// status.trainerStatus and status.lastUpdatedNanos, and reports come in every few
// seconds from every job, so these fields alone never wake the reconciler.
func trainJobChanged() predicate.TypedPredicate[*trainer.TrainJob] {
	return predicate.TypedFuncs[*trainer.TrainJob]{
		UpdateFunc: func(e event.TypedUpdateEvent[*trainer.TrainJob]) bool {
			return differ(e.ObjectOld, e.ObjectNew)
		},
	}
}

func differ(before, after *trainer.TrainJob) bool {
	return before.UID != after.UID ||
		before.Generation != after.Generation ||
		!before.DeletionTimestamp.Equal(after.DeletionTimestamp) ||
		!maps.Equal(before.Labels, after.Labels) ||
		!maps.Equal(before.Annotations, after.Annotations) ||
		!slices.Equal(before.Finalizers, after.Finalizers) ||
		!equality.Semantic.DeepEqual(withoutReport(&before.Status), withoutReport(&after.Status))
}

// authorityChanged lets through changes of the CA certificates, not those of the
// leaf, which is renewed far more often and is no concern of the pods.
func authorityChanged() predicate.TypedPredicate[*corev1.Secret] {
	bundle := func(s *corev1.Secret) []byte { return s.Data[corev1.ServiceAccountRootCAKey] }
	return predicate.TypedFuncs[*corev1.Secret]{
		UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Secret]) bool {
			return !bytes.Equal(bundle(e.ObjectOld), bundle(e.ObjectNew))
		},
		DeleteFunc: func(event.TypedDeleteEvent[*corev1.Secret]) bool { return false },
	}
}
