// SPDX-License-Identifier: Apache-2.0

// Package mlpolicy picks the policy that a runtime asks for and lets it edit the
// Plan of a TrainJob.
//
// It owns the list of policies and the refusal of those that this version does
// not have: such a runtime never leads to a JobSet, since its pods would start
// and not find each other. It does not own what a policy does; each has a package
// of its own below this one.
package mlpolicy

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/mlpolicy/jax"
	"github.com/milepost-dev/milepost/controller/internal/mlpolicy/plain"
	"github.com/milepost-dev/milepost/controller/internal/mlpolicy/torch"
	"github.com/milepost-dev/milepost/controller/internal/mlpolicy/xgboost"
	"github.com/milepost-dev/milepost/controller/internal/runtimeplan"
)

// UnsupportedError says that a runtime needs something this version does not do.
type UnsupportedError struct {
	// Feature is the part of the runtime or the TrainJob that asks for it.
	Feature string
}

func (e *UnsupportedError) Error() string {
	return e.Feature + " is not supported in this version"
}

// torchTune is the entrypoint that makes torch runtimes start torchtune.
var torchTune = []string{"tune", "run"}

// Check returns an UnsupportedError when the runtime, or the TrainJob with it,
// asks for something this version does not do. job may be nil.
func Check(spec *trainer.TrainingRuntimeSpec, job *trainer.TrainJob) error {
	if group := spec.PodGroupPolicy; group != nil && (group.Coscheduling != nil || group.Volcano != nil) {
		return &UnsupportedError{Feature: "podGroupPolicy"}
	}
	source := sourceOf(spec.MLPolicy)
	switch {
	case source.MPI != nil:
		return &UnsupportedError{Feature: "mlPolicy mpi"}
	case source.Flux != nil:
		return &UnsupportedError{Feature: "mlPolicy flux"}
	case source.Torch != nil && job != nil && job.Spec.Trainer != nil && slices.Equal(job.Spec.Trainer.Command, torchTune):
		return &UnsupportedError{Feature: `torchtune (command "tune run" with mlPolicy torch)`}
	}
	return nil
}

// Apply lets the policy edit the plan. It returns an UnsupportedError as Check
// does, or another error when the runtime or the TrainJob breaks a rule of it.
func Apply(plan *runtimeplan.Plan, spec *trainer.TrainingRuntimeSpec, job *trainer.TrainJob) error {
	if err := Check(spec, job); err != nil {
		return err
	}
	// The number of nodes comes first: the policies tell the pods about it.
	if err := plain.Apply(plan, job); err != nil {
		return err
	}
	source := sourceOf(spec.MLPolicy)
	switch {
	case source.Torch != nil:
		return torch.Apply(plan, source.Torch, job)
	case source.JAX != nil:
		jax.Apply(plan)
	case source.XGBoost != nil:
		xgboost.Apply(plan)
	}
	return nil
}

// Validate lists what the policy forbids in the TrainJob.
func Validate(plan *runtimeplan.Plan, spec *trainer.TrainingRuntimeSpec, job *trainer.TrainJob) field.ErrorList {
	source := sourceOf(spec.MLPolicy)
	switch {
	case source.Torch != nil:
		return torch.Validate(plan, source.Torch, job)
	case source.XGBoost != nil:
		return xgboost.Validate(job)
	}
	return nil
}

func sourceOf(policy *trainer.MLPolicy) trainer.MLPolicySource {
	if policy == nil {
		return trainer.MLPolicySource{}
	}
	return policy.MLPolicySource
}
