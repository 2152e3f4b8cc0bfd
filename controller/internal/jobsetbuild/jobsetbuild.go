// SPDX-License-Identifier: Apache-2.0

// Package jobsetbuild turns a finished Plan and its TrainJob into the JobSet.
//
// It owns what spec.trainer, spec.initializer and spec.suspend change in the
// template, the number of pods, and the limits JobSet sets to names. It is pure:
// no client, no clock, and equal input gives equal output, since JobSet refuses
// most changes to a JobSet that exists.
package jobsetbuild

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	jobsetv1alpha2ac "sigs.k8s.io/jobset/client-go/applyconfiguration/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/runtimeplan"
)

// envStorageURI tells an initializer where to fetch from.
const envStorageURI = "STORAGE_URI"

// Build finishes the plan, which must not be used again, and returns the JobSet.
func Build(plan *runtimeplan.Plan, job *trainer.TrainJob) (*jobsetv1alpha2ac.JobSetApplyConfiguration, error) {
	for i := range plan.PodSets {
		podSet := &plan.PodSets[i]
		setCounts(&plan.Spec.ReplicatedJobs[i], podSet)
		if err := fillIn(plan, podSet, job); err != nil {
			return nil, fmt.Errorf("filling in replicated job %q: %w", podSet.Name, err)
		}
	}
	plan.Spec.Suspend = job.Spec.Suspend
	return jobsetv1alpha2ac.JobSet(job.Name, job.Namespace).
		WithLabels(maps.Clone(plan.Labels)).
		WithAnnotations(maps.Clone(plan.Annotations)).
		WithOwnerReferences(OwnerReference(job)).
		WithSpec(plan.Spec), nil
}

// OwnerReference makes the TrainJob the controller of what it is built from.
func OwnerReference(job *trainer.TrainJob) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(trainer.GroupVersion.String()).
		WithKind(trainer.TrainJobKind).
		WithName(job.Name).
		WithUID(job.UID).
		WithController(true).
		WithBlockOwnerDeletion(true)
}

// setCounts gives the jobs that a part of the TrainJob fills in one replica with
// as many pods as there are nodes. Other jobs keep their numbers; one that gives
// none for completions gets that of parallelism, without which an indexed Job is
// refused.
func setCounts(rJob *jobsetv1alpha2ac.ReplicatedJobApplyConfiguration, podSet *runtimeplan.PodSet) {
	spec := rJob.Template.Spec
	switch podSet.Ancestor {
	case trainer.AncestorTrainer,
		trainer.AncestorDatasetInitializer,
		trainer.AncestorModelInitializer:
		rJob.WithReplicas(1)
		spec.WithParallelism(podSet.Count).WithCompletions(podSet.Count)
	default:
		fillCompletions(spec, podSet.Count)
	}
}

func fillCompletions(spec *batchv1ac.JobSpecApplyConfiguration, count int32) {
	if spec.Completions == nil {
		spec.WithParallelism(count).WithCompletions(count)
	}
}

func fillIn(plan *runtimeplan.Plan, podSet *runtimeplan.PodSet, job *trainer.TrainJob) error {
	switch podSet.Ancestor {
	case trainer.AncestorTrainer:
		return fillTrainer(plan, podSet, job.Spec.Trainer)
	case trainer.AncestorDatasetInitializer:
		if job.Spec.Initializer != nil && job.Spec.Initializer.Dataset != nil {
			dataset := job.Spec.Initializer.Dataset
			return fillInitializer(podSet, initializer{dataset.StorageUri, dataset.Env, dataset.SecretRef})
		}
	case trainer.AncestorModelInitializer:
		if job.Spec.Initializer != nil && job.Spec.Initializer.Model != nil {
			model := job.Spec.Initializer.Model
			return fillInitializer(podSet, initializer{model.StorageUri, model.Env, model.SecretRef})
		}
	}
	return nil
}

func fillTrainer(plan *runtimeplan.Plan, podSet *runtimeplan.PodSet, spec *trainer.Trainer) error {
	node := podSet.Container(runtimeplan.NodeContainer)
	if spec == nil || node == nil {
		return nil
	}
	if spec.Image != nil {
		node.WithImage(*spec.Image)
	}
	if spec.Command != nil {
		node.Command = slices.Clone(spec.Command)
	}
	if spec.Args != nil {
		node.Args = slices.Clone(spec.Args)
	}
	env, err := toEnv(spec.Env)
	if err != nil {
		return err
	}
	// The user's values come last and win, except over those that make the pods
	// find each other. Admission refuses these; here they are left out for jobs
	// that came in while the webhook was away.
	env = slices.DeleteFunc(env, func(e corev1ac.EnvVarApplyConfiguration) bool {
		return e.Name != nil && plan.ReservedEnv.Has(*e.Name)
	})
	runtimeplan.SetEnv(node, env...)
	return nil
}

// initializer is what dataset and model initializers have in common.
type initializer struct {
	storageURI *string
	env        []corev1.EnvVar
	secret     *corev1.LocalObjectReference
}

// fillInitializer finds the container by the name of the ancestor, which is also
// the name of the container.
func fillInitializer(podSet *runtimeplan.PodSet, in initializer) error {
	container := podSet.Container(podSet.Ancestor)
	if container == nil {
		return nil
	}
	if in.storageURI != nil {
		runtimeplan.SetEnv(container, runtimeplan.Env(envStorageURI, *in.storageURI))
	}
	env, err := toEnv(in.env)
	if err != nil {
		return err
	}
	runtimeplan.SetEnv(container, env...)
	if in.secret != nil {
		container.WithEnvFrom(corev1ac.EnvFromSource().
			WithSecretRef(corev1ac.SecretEnvSource().WithName(in.secret.Name)))
	}
	return nil
}

// toEnv converts by way of JSON, which both forms share, so that no source of
// values can be forgotten when Kubernetes adds one.
func toEnv(env []corev1.EnvVar) ([]corev1ac.EnvVarApplyConfiguration, error) {
	text, err := json.Marshal(env)
	if err != nil {
		return nil, fmt.Errorf("converting environment variables: %w", err)
	}
	var out []corev1ac.EnvVarApplyConfiguration
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("converting environment variables: %w", err)
	}
	return out, nil
}
