// SPDX-License-Identifier: Apache-2.0

// Package runtimeref turns spec.runtimeRef of a TrainJob into the runtime it
// names, and that runtime into a Plan with the patches of the TrainJob merged.
//
// It owns the lookup, the snapshot that freezes a runtime for the life of a job,
// and the merge. It does not own policies (mlpolicy), the JobSet (jobsetbuild)
// or any write: the snapshot is returned for the caller to apply.
package runtimeref

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// Runtime is a TrainingRuntime or a ClusterTrainingRuntime, whichever the
// TrainJob names.
type Runtime struct {
	// Kind is TrainingRuntime or ClusterTrainingRuntime.
	Kind string
	// Meta is the metadata of the runtime.
	Meta metav1.ObjectMeta
	// Spec is the template and its policies.
	Spec trainer.TrainingRuntimeSpec
	// FromSnapshot says that the runtime was read from the snapshot of the job.
	FromSnapshot bool
}

// Deprecated says that the runtime announces its own removal.
func (r *Runtime) Deprecated() bool {
	return r.Meta.Labels[trainer.LabelSupport] == trainer.SupportDeprecated
}

// Resolver finds runtimes.
type Resolver struct {
	// Cached is asked for runtimes first. It may lag behind.
	Cached client.Reader
	// Live is asked for snapshots, and for runtimes that Cached does not know
	// yet: one that was created a moment before its first TrainJob.
	Live client.Reader
}

// Resolve returns the runtime that the TrainJob was first built from, or the one
// its reference names when it was not built yet.
//
// Errors: UnsupportedKindError, NotFoundError, ErrPredecessor, or one that came
// from the API server.
func (r Resolver) Resolve(ctx context.Context, job *trainer.TrainJob) (*Runtime, error) {
	kind, err := kindOf(job.Spec.RuntimeRef)
	if err != nil {
		return nil, err
	}
	found, err := r.snapshot(ctx, job, kind)
	if err != nil || found != nil {
		return found, err
	}
	return r.referenced(ctx, job, kind)
}

// Referenced returns the runtime that the reference names now. Errors as Resolve.
func (r Resolver) Referenced(ctx context.Context, job *trainer.TrainJob) (*Runtime, error) {
	kind, err := kindOf(job.Spec.RuntimeRef)
	if err != nil {
		return nil, err
	}
	return r.referenced(ctx, job, kind)
}

func (r Resolver) referenced(ctx context.Context, job *trainer.TrainJob, kind string) (*Runtime, error) {
	key := client.ObjectKey{Name: job.Spec.RuntimeRef.Name}
	if kind == trainer.TrainingRuntimeKind {
		key.Namespace = job.Namespace
	}
	found, err := get(ctx, r.Cached, kind, key)
	if apierrors.IsNotFound(err) {
		found, err = get(ctx, r.Live, kind, key)
	}
	if apierrors.IsNotFound(err) {
		return nil, &NotFoundError{Kind: kind, Key: key}
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %q: %w", kind, key.Name, err)
	}
	return found, nil
}

func get(ctx context.Context, reader client.Reader, kind string, key client.ObjectKey) (*Runtime, error) {
	if kind == trainer.TrainingRuntimeKind {
		var found trainer.TrainingRuntime
		if err := reader.Get(ctx, key, &found); err != nil {
			return nil, err
		}
		return &Runtime{Kind: kind, Meta: found.ObjectMeta, Spec: *found.Spec.DeepCopy()}, nil
	}
	var found trainer.ClusterTrainingRuntime
	if err := reader.Get(ctx, key, &found); err != nil {
		return nil, err
	}
	return &Runtime{Kind: kind, Meta: found.ObjectMeta, Spec: *found.Spec.DeepCopy()}, nil
}

// kindOf checks the group and kind of a reference. Absent ones are what the CRD
// fills in, so that a job written before that default still resolves.
func kindOf(ref trainer.RuntimeRef) (string, error) {
	gk := schema.GroupKind{
		Group: ptr.Deref(ref.APIGroup, trainer.GroupName),
		Kind:  ptr.Deref(ref.Kind, trainer.ClusterTrainingRuntimeKind),
	}
	switch gk {
	case trainer.Kind(trainer.TrainingRuntimeKind),
		trainer.Kind(trainer.ClusterTrainingRuntimeKind):
		return gk.Kind, nil
	}
	return "", &UnsupportedKindError{GroupKind: gk}
}
