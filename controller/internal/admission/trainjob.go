// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/jobsetbuild"
	"github.com/milepost-dev/milepost/controller/internal/mlpolicy"
	"github.com/milepost-dev/milepost/controller/internal/runtimeref"
)

// deprecationPolicy tells users of a deprecated runtime what happens next.
const deprecationPolicy = "https://trainer.kubeflow.org/en/latest/operator-guides/runtime.html#runtime-deprecation-policy"

var (
	specPath    = field.NewPath("spec")
	runtimePath = specPath.Child("runtimeRef")
	patchesPath = specPath.Child("runtimePatches")
)

type trainJobValidator struct {
	cached   client.Reader
	resolver runtimeref.Resolver
}

var _ admission.Validator[*trainer.TrainJob] = (*trainJobValidator)(nil)

// ValidateCreate implements admission.Validator.
func (v *trainJobValidator) ValidateCreate(ctx context.Context, job *trainer.TrainJob) (admission.Warnings, error) {
	runtime, err := v.resolver.Referenced(ctx, job)
	if err != nil {
		return nil, unresolved(job, err)
	}
	var warnings admission.Warnings
	if runtime.Deprecated() {
		warnings = append(warnings, fmt.Sprintf(
			"Referenced %s %q is deprecated and will be removed in a future release of Kubeflow Trainer. See runtime deprecation policy: %s",
			runtime.Kind, runtime.Meta.Name, deprecationPolicy))
	}
	return warnings, checkJob(runtime, job).ToAggregate()
}

// ValidateUpdate implements admission.Validator. Of the spec only suspend and
// runtimePatches can change, so without a new patch nothing is left to check: a
// TrainJob whose runtime is gone can still be suspended, labelled and deleted.
func (v *trainJobValidator) ValidateUpdate(ctx context.Context, before, job *trainer.TrainJob) (admission.Warnings, error) {
	if !job.DeletionTimestamp.IsZero() || samePatches(before.Spec.RuntimePatches, job.Spec.RuntimePatches) {
		return nil, nil
	}
	if errs := v.checkPatchable(ctx, before, job); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	runtime, err := v.resolver.Resolve(ctx, job)
	if err != nil {
		return nil, unresolved(job, err)
	}
	return nil, checkJob(runtime, job).ToAggregate()
}

// ValidateDelete implements admission.Validator.
func (v *trainJobValidator) ValidateDelete(context.Context, *trainer.TrainJob) (admission.Warnings, error) {
	return nil, nil
}

// unresolved names the runtime that a TrainJob asks for and why it does not get it.
func unresolved(job *trainer.TrainJob, err error) error {
	if kind, ok := errors.AsType[*runtimeref.UnsupportedKindError](err); ok {
		return kind
	}
	var notFound *runtimeref.NotFoundError
	if !errors.As(err, &notFound) {
		return field.InternalError(runtimePath, err)
	}
	// The spelling of the second path is part of what published clients may match.
	path, word := runtimePath, "trainingRuntime"
	if notFound.Kind == trainer.ClusterTrainingRuntimeKind {
		path, word = specPath.Child("RuntimeRef"), "clusterTrainingRuntime"
	}
	return field.Invalid(path, job.Spec.RuntimeRef.Name,
		fmt.Sprintf("%v: specified %s must be created before the TrainJob is created", notFound, word))
}

// checkJob lists what is wrong with a TrainJob, given its runtime. It ends with
// building the JobSet, when the rest is right.
func checkJob(runtime *runtimeref.Runtime, job *trainer.TrainJob) field.ErrorList {
	if err := mlpolicy.Check(&runtime.Spec, job); err != nil {
		return field.ErrorList{field.Forbidden(runtimePath, fmt.Sprintf("runtime %q: %v", runtime.Meta.Name, err))}
	}
	errs := checkNumNodes(job)
	errs = append(errs, checkInitializers(runtime, job)...)
	errs = append(errs, checkPatches(runtime, job)...)
	if len(errs) > 0 {
		return errs
	}
	plan, err := runtimeref.NewPlan(runtime, job)
	if err != nil {
		return field.ErrorList{field.Invalid(runtimePath, runtime.Meta.Name, err.Error())}
	}
	if errs := mlpolicy.Validate(plan, &runtime.Spec, job); len(errs) > 0 {
		return errs
	}
	if err := mlpolicy.Apply(plan, &runtime.Spec, job); err != nil {
		return field.ErrorList{field.Invalid(runtimePath, runtime.Meta.Name, err.Error())}
	}
	jobSet, err := jobsetbuild.Build(plan, job)
	if err != nil {
		return field.ErrorList{field.Invalid(runtimePath, runtime.Meta.Name, err.Error())}
	}
	return jobsetbuild.Check(jobSet)
}

func checkNumNodes(job *trainer.TrainJob) field.ErrorList {
	if job.Spec.Trainer == nil {
		return nil
	}
	var errs field.ErrorList
	for _, number := range []struct {
		name  string
		value *int32
	}{
		{"numNodes", job.Spec.Trainer.NumNodes},
		{"numProcPerNode", job.Spec.Trainer.NumProcPerNode},
	} {
		if number.value != nil && *number.value < 1 {
			errs = append(errs, field.Invalid(specPath.Child("trainer", number.name), *number.value, "must be greater than or equal to 1"))
		}
	}
	return errs
}
