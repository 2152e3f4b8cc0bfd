// SPDX-License-Identifier: Apache-2.0

package runtimeref

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

const (
	snapshotSuffix = "-runtime-snapshot"
	snapshotKey    = "runtime"
)

// SnapshotName is the name of the ConfigMap that keeps the runtime of a TrainJob
// as it was when the job was first built.
func SnapshotName(trainJob string) string {
	return trainJob + snapshotSuffix
}

// Snapshot is that ConfigMap, without its owner.
func Snapshot(job *trainer.TrainJob, r *Runtime) (*corev1ac.ConfigMapApplyConfiguration, error) {
	// Both kinds have the same form, so one type serves to write either.
	kept := trainer.TrainingRuntime{
		TypeMeta: metav1.TypeMeta{APIVersion: trainer.GroupVersion.String(), Kind: r.Kind},
		ObjectMeta: metav1.ObjectMeta{
			Name:            r.Meta.Name,
			Namespace:       r.Meta.Namespace,
			UID:             r.Meta.UID,
			ResourceVersion: r.Meta.ResourceVersion,
			Generation:      r.Meta.Generation,
			Labels:          r.Meta.Labels,
		},
		Spec: r.Spec,
	}
	text, err := yaml.Marshal(kept)
	if err != nil {
		return nil, fmt.Errorf("writing the snapshot of runtime %q: %w", r.Meta.Name, err)
	}
	return corev1ac.ConfigMap(SnapshotName(job.Name), job.Namespace).
		WithData(map[string]string{snapshotKey: string(text)}), nil
}

// snapshot returns nil when there is none yet.
func (r Resolver) snapshot(ctx context.Context, job *trainer.TrainJob, kind string) (*Runtime, error) {
	if job.UID == "" {
		return nil, nil // a job under admission, which nothing can belong to
	}
	var kept corev1.ConfigMap
	key := client.ObjectKey{Namespace: job.Namespace, Name: SnapshotName(job.Name)}
	if err := r.Live.Get(ctx, key, &kept); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("reading runtime snapshot %q: %w", key.Name, err)
	}
	if err := checkOwner(&kept, job); err != nil {
		return nil, fmt.Errorf("reading runtime snapshot %q: %w", key.Name, err)
	}
	found, err := parseSnapshot(kept.Data, job, kind)
	if err != nil {
		return nil, fmt.Errorf("reading runtime snapshot %q: %w", key.Name, err)
	}
	return found, nil
}

func checkOwner(kept *corev1.ConfigMap, job *trainer.TrainJob) error {
	owner := metav1.GetControllerOf(kept)
	switch {
	case owner != nil && owner.UID == job.UID:
		return nil
	case owner != nil && owner.Kind == trainer.TrainJobKind && owner.Name == job.Name:
		return ErrPredecessor
	}
	return fmt.Errorf("a ConfigMap of this name exists and does not belong to the TrainJob")
}

func parseSnapshot(data map[string]string, job *trainer.TrainJob, kind string) (*Runtime, error) {
	text, ok := data[snapshotKey]
	if !ok {
		return nil, fmt.Errorf("it has no key %q", snapshotKey)
	}
	var kept trainer.TrainingRuntime
	if err := yaml.Unmarshal([]byte(text), &kept); err != nil {
		return nil, fmt.Errorf("parsing key %q: %w", snapshotKey, err)
	}
	if gk := kept.GroupVersionKind().GroupKind(); gk != trainer.Kind(kind) || kept.Name != job.Spec.RuntimeRef.Name {
		return nil, fmt.Errorf("it holds %s %q, the TrainJob names %s %q",
			gk, kept.Name, trainer.Kind(kind), job.Spec.RuntimeRef.Name)
	}
	return &Runtime{Kind: kind, Meta: kept.ObjectMeta, Spec: kept.Spec, FromSnapshot: true}, nil
}
