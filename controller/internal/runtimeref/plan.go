// SPDX-License-Identifier: Apache-2.0

package runtimeref

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	jobsetv1alpha2ac "sigs.k8s.io/jobset/client-go/applyconfiguration/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/runtimeplan"
)

// NewPlan starts the JobSet of a TrainJob from its runtime: the template, the
// runtimePatches and the resources of spec.trainer merged. Neither argument is
// changed.
//
// It returns an UnusableError when the template has no place for the trainer.
func NewPlan(r *Runtime, job *trainer.TrainJob) (*runtimeplan.Plan, error) {
	template := r.Spec.Template.DeepCopy()
	if err := mergePatches(template, job.Spec.RuntimePatches); err != nil {
		return nil, err
	}
	spec, err := toApply(&template.Spec)
	if err != nil {
		return nil, fmt.Errorf("converting the template of runtime %q: %w", r.Meta.Name, err)
	}
	plan := &runtimeplan.Plan{
		TrainJob:    job.Name,
		Labels:      template.Labels,
		Annotations: template.Annotations,
		Spec:        spec,
		ReservedEnv: sets.New[string](),
	}
	for i := range spec.ReplicatedJobs {
		plan.PodSets = append(plan.PodSets, newPodSet(&spec.ReplicatedJobs[i], r.Spec.MLPolicy))
	}
	nodes := plan.FirstWithAncestor(trainer.AncestorTrainer)
	if nodes == nil {
		return nil, unusable(r, "none of its replicated jobs has the label %s: %s",
			trainer.LabelTrainJobAncestor, trainer.AncestorTrainer)
	}
	if nodes.Container(runtimeplan.NodeContainer) == nil {
		return nil, unusable(r, "its replicated job %q has no container %q", nodes.Name, runtimeplan.NodeContainer)
	}
	mergeTrainerResources(plan, job.Spec.Trainer)
	return plan, nil
}

// newPodSet also fills in the parts of a replicated job that an empty template
// leaves out, so that nobody after it has to check for them.
func newPodSet(rJob *jobsetv1alpha2ac.ReplicatedJobApplyConfiguration, policy *trainer.MLPolicy) runtimeplan.PodSet {
	rJob.Template = orNew(rJob.Template)
	template := rJob.Template
	template.ObjectMetaApplyConfiguration = orNew(template.ObjectMetaApplyConfiguration)
	template.Spec = orNew(template.Spec)
	template.Spec.Template = orNew(template.Spec.Template)
	template.Spec.Template.Spec = orNew(template.Spec.Template.Spec)

	ancestor := template.Labels[trainer.LabelTrainJobAncestor]
	count := ptr.Deref(template.Spec.Parallelism, 1)
	if ancestor == trainer.AncestorTrainer && policy != nil {
		count = ptr.Deref(policy.NumNodes, 1)
	}
	return runtimeplan.PodSet{
		Name:     ptr.Deref(rJob.Name, ""),
		Ancestor: ancestor,
		Count:    max(count, 1),
		Pod:      template.Spec.Template.Spec,
	}
}

func orNew[T batchv1ac.JobTemplateSpecApplyConfiguration |
	metav1ac.ObjectMetaApplyConfiguration |
	batchv1ac.JobSpecApplyConfiguration |
	corev1ac.PodTemplateSpecApplyConfiguration |
	corev1ac.PodSpecApplyConfiguration](p *T) *T {
	if p == nil {
		return new(T)
	}
	return p
}

// toApply converts by way of JSON, which both forms share, so that no field can
// be forgotten when Kubernetes adds one.
func toApply(spec *jobsetv1alpha2.JobSetSpec) (*jobsetv1alpha2ac.JobSetSpecApplyConfiguration, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	var out jobsetv1alpha2ac.JobSetSpecApplyConfiguration
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, err
	}
	return &out, nil
}
