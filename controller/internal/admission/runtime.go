// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/mlpolicy"
	"github.com/milepost-dev/milepost/controller/internal/runtimeplan"
)

type trainingRuntimeValidator struct{}

var _ admission.Validator[*trainer.TrainingRuntime] = (*trainingRuntimeValidator)(nil)

// ValidateCreate implements admission.Validator.
func (*trainingRuntimeValidator) ValidateCreate(_ context.Context, runtime *trainer.TrainingRuntime) (admission.Warnings, error) {
	return checkRuntime(&runtime.ObjectMeta, &runtime.Spec)
}

// ValidateUpdate implements admission.Validator. It takes every change, as clients
// are used to; a TrainJob that names a broken runtime is refused in its turn.
func (*trainingRuntimeValidator) ValidateUpdate(context.Context, *trainer.TrainingRuntime, *trainer.TrainingRuntime) (admission.Warnings, error) {
	return nil, nil
}

// ValidateDelete implements admission.Validator.
func (*trainingRuntimeValidator) ValidateDelete(context.Context, *trainer.TrainingRuntime) (admission.Warnings, error) {
	return nil, nil
}

type clusterTrainingRuntimeValidator struct{}

var _ admission.Validator[*trainer.ClusterTrainingRuntime] = (*clusterTrainingRuntimeValidator)(nil)

// ValidateCreate implements admission.Validator.
func (*clusterTrainingRuntimeValidator) ValidateCreate(_ context.Context, runtime *trainer.ClusterTrainingRuntime) (admission.Warnings, error) {
	warnings, err := checkRuntime(&runtime.ObjectMeta, &runtime.Spec)
	if runtime.Labels[trainer.LabelSupport] == trainer.SupportDeprecated {
		warnings = append(warnings, fmt.Sprintf(
			"ClusterTrainingRuntime %q is deprecated and will be removed in a future release of Kubeflow Trainer. See runtime deprecation policy: %s",
			runtime.Name, deprecationPolicy))
	}
	return warnings, err
}

// ValidateUpdate implements admission.Validator.
func (*clusterTrainingRuntimeValidator) ValidateUpdate(
	_ context.Context, _, runtime *trainer.ClusterTrainingRuntime,
) (admission.Warnings, error) {
	if !runtime.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	return checkRuntime(&runtime.ObjectMeta, &runtime.Spec)
}

// ValidateDelete implements admission.Validator.
func (*clusterTrainingRuntimeValidator) ValidateDelete(context.Context, *trainer.ClusterTrainingRuntime) (admission.Warnings, error) {
	return nil, nil
}

// checkRuntime refuses a runtime whose labelled jobs could not be filled in. One
// that needs what this version does not do is taken, with a warning: it may be
// part of a set that is installed as a whole.
func checkRuntime(meta *metav1.ObjectMeta, spec *trainer.TrainingRuntimeSpec) (admission.Warnings, error) {
	if meta.Labels[trainer.LabelWebhookValidation] == trainer.WebhookValidationDisabled {
		return nil, nil
	}
	var warnings admission.Warnings
	if err := mlpolicy.Check(spec, nil); err != nil {
		warnings = append(warnings, fmt.Sprintf("%v: TrainJobs that name runtime %q are refused", err, meta.Name))
	}
	var errs field.ErrorList
	path := field.NewPath("spec", "template", "spec", "replicatedJobs")
	for i := range spec.Template.Spec.ReplicatedJobs {
		errs = append(errs, checkReplicatedJob(path.Index(i), &spec.Template.Spec.ReplicatedJobs[i])...)
	}
	return warnings, errs.ToAggregate()
}

func checkReplicatedJob(path *field.Path, rJob *jobsetv1alpha2.ReplicatedJob) field.ErrorList {
	ancestor := rJob.Template.Labels[trainer.LabelTrainJobAncestor]
	var container string
	switch ancestor {
	case trainer.AncestorTrainer:
		container = runtimeplan.NodeContainer
	case trainer.AncestorDatasetInitializer, trainer.AncestorModelInitializer:
		container = ancestor
	default:
		return nil
	}
	var errs field.ErrorList
	if rJob.Replicas != 1 {
		errs = append(errs, field.Invalid(path.Child("replicas"), rJob.Replicas, "always must be 1"))
	}
	pod := &rJob.Template.Spec.Template.Spec
	if !slices.ContainsFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == container }) {
		errs = append(errs, field.Invalid(path.Child("template", "spec", "template", "spec", "containers"), names(pod.Containers),
			"must contain the required container for the ancestor: "+ancestor))
	}
	return errs
}

func names(containers []corev1.Container) []string {
	out := make([]string, 0, len(containers))
	for i := range containers {
		out = append(out, containers[i].Name)
	}
	return out
}
