// SPDX-License-Identifier: Apache-2.0

package trainjob

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobsetv1alpha2ac "sigs.k8s.io/jobset/client-go/applyconfiguration/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/jobsetbuild"
	"github.com/milepost-dev/milepost/controller/internal/jobsetstatus"
	"github.com/milepost-dev/milepost/controller/internal/mlpolicy"
	"github.com/milepost-dev/milepost/controller/internal/reporterwiring"
	"github.com/milepost-dev/milepost/controller/internal/runtimeref"
)

// makeChildren applies what a TrainJob that has not ended is made of. Nothing is
// written before all of it could be built.
func (r *Reconciler) makeChildren(ctx context.Context, a *attempt) error {
	if a.jobSet == nil {
		return r.create(ctx, a)
	}
	if !a.jobSet.DeletionTimestamp.IsZero() {
		return nil // made again when it is gone
	}
	// An old JobSet does not wait for its CA: suspending must always work.
	return errors.Join(r.applyAuthority(ctx, a.job), r.update(ctx, a))
}

func (r *Reconciler) create(ctx context.Context, a *attempt) error {
	job, err := r.current(ctx, a)
	if err != nil || a.outdated {
		return err
	}
	built, err := r.build(ctx, job)
	if err != nil {
		return err
	}
	if err := r.applyAuthority(ctx, job); err != nil {
		return err
	}
	return r.apply(ctx, built)
}

// current reads the TrainJob from the API server. The cache leaves out what it is
// built from, and it may be behind: a JobSet may vanish there before the end it
// led to shows, and making it again would train a second time.
func (r *Reconciler) current(ctx context.Context, a *attempt) (*trainer.TrainJob, error) {
	var now trainer.TrainJob
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(a.job), &now); err != nil {
		if apierrors.IsNotFound(err) {
			a.outdated = true
			return &now, nil
		}
		return nil, fmt.Errorf("reading the TrainJob again: %w", err)
	}
	a.outdated = now.UID != a.job.UID || !now.DeletionTimestamp.IsZero() || jobsetstatus.Finished(&now.Status)
	return &now, nil
}

// apply writes the snapshot first: a JobSet without one would be built from
// another runtime the next time.
func (r *Reconciler) apply(ctx context.Context, built *built) error {
	if built.snapshot != nil {
		if err := r.client.Apply(ctx, built.snapshot, fieldOwner, client.ForceOwnership); err != nil {
			return fmt.Errorf("applying the runtime snapshot: %w", err)
		}
	}
	if err := r.client.Apply(ctx, built.jobSet, fieldOwner, client.ForceOwnership); err != nil {
		return fmt.Errorf("applying the JobSet: %w", err)
	}
	return nil
}

// built is what a TrainJob is made of, beside the CA.
type built struct {
	jobSet *jobsetv1alpha2ac.JobSetApplyConfiguration
	// snapshot is nil when there is one already.
	snapshot *corev1ac.ConfigMapApplyConfiguration
}

func (r *Reconciler) build(ctx context.Context, job *trainer.TrainJob) (*built, error) {
	runtime, err := r.resolver.Resolve(ctx, job)
	if err != nil {
		return nil, fmt.Errorf("resolving runtime %q: %w", job.Spec.RuntimeRef.Name, err)
	}
	plan, err := runtimeref.NewPlan(runtime, job)
	if err != nil {
		return nil, fmt.Errorf("planning from runtime %q: %w", runtime.Meta.Name, err)
	}
	if r.config.ReportLink {
		reporterwiring.Wire(plan, r.config.endpoint(), job.Namespace)
	}
	if err := mlpolicy.Apply(plan, &runtime.Spec, job); err != nil {
		return nil, fmt.Errorf("applying the policy of runtime %q: %w", runtime.Meta.Name, err)
	}
	jobSet, err := jobsetbuild.Build(plan, job)
	if err != nil {
		return nil, fmt.Errorf("building the JobSet: %w", err)
	}
	jobSet.WithAnnotations(map[string]string{annotationGeneration: generation(job)})
	if runtime.FromSnapshot {
		return &built{jobSet: jobSet}, nil
	}
	snapshot, err := runtimeref.Snapshot(job, runtime)
	if err != nil {
		return nil, err
	}
	return &built{jobSet: jobSet, snapshot: snapshot.WithOwnerReferences(jobsetbuild.OwnerReference(job))}, nil
}
