// SPDX-License-Identifier: Apache-2.0

package runtimeref

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// UnknownReplicatedJobError says that a patch names a replicated job that the
// runtime does not have. Merging it would add a job without containers.
type UnknownReplicatedJobError struct {
	Manager, ReplicatedJob string
}

func (e *UnknownReplicatedJobError) Error() string {
	return fmt.Sprintf("runtimePatches of %q name replicated job %q, which the runtime does not have",
		e.Manager, e.ReplicatedJob)
}

// mergePatches merges patches in their order, so that a later manager wins over
// an earlier one.
func mergePatches(template *trainer.JobSetTemplateSpec, patches []trainer.RuntimePatch) error {
	for i := range patches {
		if patches[i].TrainingRuntimeSpec == nil || patches[i].TrainingRuntimeSpec.Template == nil {
			continue
		}
		patch := patches[i].TrainingRuntimeSpec.Template
		if patch.Metadata != nil {
			template.Labels = overlay(template.Labels, patch.Metadata.Labels)
			template.Annotations = overlay(template.Annotations, patch.Metadata.Annotations)
		}
		if patch.Spec == nil {
			continue
		}
		if err := mergeSpec(&template.Spec, patches[i].Manager, patch.Spec.DeepCopy()); err != nil {
			return err
		}
	}
	return nil
}

func mergeSpec(spec *jobsetv1alpha2.JobSetSpec, manager string, patch *trainer.JobSetSpecPatch) error {
	order := make(map[string]int, len(spec.ReplicatedJobs))
	for i := range spec.ReplicatedJobs {
		order[spec.ReplicatedJobs[i].Name] = i
	}
	for i := range patch.ReplicatedJobs {
		rJob := &patch.ReplicatedJobs[i]
		if _, ok := order[rJob.Name]; !ok {
			return &UnknownReplicatedJobError{Manager: manager, ReplicatedJob: rJob.Name}
		}
		keepLabelsAndAnnotations(rJob)
	}
	merged, err := strategicMerge(*spec, patch)
	if err != nil {
		return fmt.Errorf("merging runtimePatches of %q: %w", manager, err)
	}
	// The merge puts patched entries first, but dependsOn may only point back.
	slices.SortStableFunc(merged.ReplicatedJobs, func(a, b jobsetv1alpha2.ReplicatedJob) int {
		return cmp.Compare(order[a.Name], order[b.Name])
	})
	*spec = merged
	return nil
}

func strategicMerge(spec jobsetv1alpha2.JobSetSpec, patch *trainer.JobSetSpecPatch) (jobsetv1alpha2.JobSetSpec, error) {
	var merged jobsetv1alpha2.JobSetSpec
	original, err := json.Marshal(spec)
	if err != nil {
		return merged, err
	}
	change, err := json.Marshal(patch)
	if err != nil {
		return merged, err
	}
	text, err := strategicpatch.StrategicMergePatch(original, change, jobsetv1alpha2.JobSetSpec{})
	if err != nil {
		return merged, err
	}
	return merged, json.Unmarshal(text, &merged)
}

// keepLabelsAndAnnotations drops the rest of the metadata, which a patch may not
// set: a name in a Job template, say, would make JobSet refuse the whole.
func keepLabelsAndAnnotations(rJob *trainer.ReplicatedJobPatch) {
	if rJob.Template == nil {
		return
	}
	rJob.Template.Metadata = labelsAndAnnotations(rJob.Template.Metadata)
	if rJob.Template.Spec == nil || rJob.Template.Spec.Template == nil {
		return
	}
	rJob.Template.Spec.Template.Metadata = labelsAndAnnotations(rJob.Template.Spec.Template.Metadata)
}

func labelsAndAnnotations(meta *metav1.ObjectMeta) *metav1.ObjectMeta {
	if meta == nil {
		return nil
	}
	return &metav1.ObjectMeta{Labels: meta.Labels, Annotations: meta.Annotations}
}

func overlay(base, over map[string]string) map[string]string {
	if base == nil && len(over) > 0 {
		base = make(map[string]string, len(over))
	}
	maps.Copy(base, over)
	return base
}
