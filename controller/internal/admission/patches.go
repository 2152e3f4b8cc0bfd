// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/runtimeplan"
	"github.com/milepost-dev/milepost/controller/internal/runtimeref"
)

// samePatches does not look at the time, which says nothing to a JobSet.
func samePatches(a, b []trainer.RuntimePatch) bool {
	return slices.EqualFunc(a, b, func(a, b trainer.RuntimePatch) bool {
		return a.Manager == b.Manager && samePatch(&a, &b)
	})
}

// checkPatchable refuses a change of patches that running pods would not follow.
// Suspending or resuming may come with it in one update.
func (v *trainJobValidator) checkPatchable(ctx context.Context, before, job *trainer.TrainJob) field.ErrorList {
	if !ptr.Deref(before.Spec.Suspend, false) && !ptr.Deref(job.Spec.Suspend, false) {
		return field.ErrorList{field.Forbidden(patchesPath,
			"RuntimePatches can only be modified when the TrainJob is suspended before or after the update")}
	}
	var jobSet jobsetv1alpha2.JobSet
	if err := v.cached.Get(ctx, client.ObjectKeyFromObject(job), &jobSet); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil
		}
		return field.ErrorList{field.InternalError(patchesPath, err)}
	}
	var errs field.ErrorList
	for _, status := range jobSet.Status.ReplicatedJobsStatus {
		if status.Active > 0 {
			errs = append(errs, field.Forbidden(patchesPath,
				fmt.Sprintf("RuntimePatches cannot be modified when the JobSet's ReplicatedJob %s is still active", status.Name)))
		}
	}
	return errs
}

// checkPatches refuses patches of what the runtime does not have, and variables
// that have a place of their own in the TrainJob.
func checkPatches(runtime *runtimeref.Runtime, job *trainer.TrainJob) field.ErrorList {
	known := containers(runtime)
	var errs field.ErrorList
	for i := range job.Spec.RuntimePatches {
		patch := &job.Spec.RuntimePatches[i]
		errs = append(errs, validation.IsDomainPrefixedPath(patchesPath.Child("manager"), patch.Manager)...)
		for _, rJob := range replicatedJobs(patch) {
			names, ok := known[rJob.Name]
			if !ok {
				errs = append(errs, field.Invalid(patchesPath, rJob.Name,
					"must not have replicated job that doesn't exist in the runtime job template"))
				continue
			}
			errs = append(errs, checkPodPatch(rJob, names)...)
		}
	}
	return errs
}

func checkPodPatch(rJob trainer.ReplicatedJobPatch, known sets.Set[string]) field.ErrorList {
	if rJob.Template == nil || rJob.Template.Spec == nil || rJob.Template.Spec.Template == nil || rJob.Template.Spec.Template.Spec == nil {
		return nil
	}
	pod := rJob.Template.Spec.Template.Spec
	var errs field.ErrorList
	for _, c := range pod.InitContainers {
		if !known.Has(c.Name) {
			errs = append(errs, field.Invalid(patchesPath, c.Name,
				fmt.Sprintf("must not have initContainer that doesn't exist in the runtime job %s", rJob.Name)))
		}
	}
	for _, c := range pod.Containers {
		switch {
		case !known.Has(c.Name):
			errs = append(errs, field.Invalid(patchesPath, c.Name,
				fmt.Sprintf("must not have container that doesn't exist in the runtime job %s", rJob.Name)))
		case len(c.Env) > 0 && slices.Contains(ownEnv(), c.Name):
			errs = append(errs, field.Invalid(patchesPath, c.Name,
				fmt.Sprintf("must not have envs for the %s, %s, %s containers",
					trainer.AncestorDatasetInitializer, trainer.AncestorModelInitializer, runtimeplan.NodeContainer)))
		}
	}
	return errs
}

// ownEnv are the containers whose variables stand in the TrainJob itself.
func ownEnv() []string {
	return []string{trainer.AncestorDatasetInitializer, trainer.AncestorModelInitializer, runtimeplan.NodeContainer}
}

func replicatedJobs(patch *trainer.RuntimePatch) []trainer.ReplicatedJobPatch {
	spec := patch.TrainingRuntimeSpec
	if spec == nil || spec.Template == nil || spec.Template.Spec == nil {
		return nil
	}
	return spec.Template.Spec.ReplicatedJobs
}

// containers lists, by replicated job, the containers and init containers.
func containers(runtime *runtimeref.Runtime) map[string]sets.Set[string] {
	out := map[string]sets.Set[string]{}
	for i := range runtime.Spec.Template.Spec.ReplicatedJobs {
		rJob := &runtime.Spec.Template.Spec.ReplicatedJobs[i]
		names := sets.New[string]()
		for _, c := range rJob.Template.Spec.Template.Spec.Containers {
			names.Insert(c.Name)
		}
		for _, c := range rJob.Template.Spec.Template.Spec.InitContainers {
			names.Insert(c.Name)
		}
		out[rJob.Name] = names
	}
	return out
}
