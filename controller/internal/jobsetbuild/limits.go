// SPDX-License-Identifier: Apache-2.0

package jobsetbuild

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	jobsetv1alpha2ac "sigs.k8s.io/jobset/client-go/applyconfiguration/jobset/v1alpha2"
)

// podSuffix stands for the hyphen and the five random characters which the Job
// controller appends to the name of a pod.
const podSuffix = "-abcde"

var (
	namePath    = field.NewPath("metadata", "name")
	runtimePath = field.NewPath("spec", "runtimeRef")
)

// Check lists what JobSet would refuse later, when nobody looks: names that grow
// over 63 characters by what is appended to them, and references to replicated
// jobs that are not there. Fields are those of the TrainJob.
func Check(jobSet *jobsetv1alpha2ac.JobSetApplyConfiguration) field.ErrorList {
	return append(checkNames(jobSet), checkReferences(jobSet.Spec)...)
}

func checkNames(jobSet *jobsetv1alpha2ac.JobSetApplyConfiguration) field.ErrorList {
	var errs field.ErrorList
	for i := range jobSet.Spec.ReplicatedJobs {
		name := ptr.Deref(jobSet.Spec.ReplicatedJobs[i].Name, "")
		if bad := validation.IsDNS1035Label("a-" + name); len(bad) > 0 {
			errs = append(errs, field.Invalid(runtimePath, name, "name of a replicated job: "+strings.Join(bad, "; ")))
		}
	}
	lowest := slices.MinFunc(nameLimits(jobSet.Spec), func(a, b nameLimit) int { return cmp.Compare(a.max, b.max) })
	if len(*jobSet.Name) > lowest.max {
		errs = append(errs, field.Invalid(namePath, *jobSet.Name,
			fmt.Sprintf("must be no more than %d characters with this runtime, so that %s stay within %d",
				lowest.max, lowest.why, validation.DNS1035LabelMaxLength)))
	}
	return errs
}

// nameLimit is the length that one kind of child leaves to the name of the JobSet.
type nameLimit struct {
	max int
	why string
}

// nameLimits is never empty: the headless Service has the name of the JobSet.
func nameLimits(spec *jobsetv1alpha2ac.JobSetSpecApplyConfiguration) []nameLimit {
	limits := []nameLimit{{validation.DNS1035LabelMaxLength, "host names"}}
	add := func(appended, format string, args ...any) {
		limits = append(limits, nameLimit{validation.DNS1035LabelMaxLength - len(appended), fmt.Sprintf(format, args...)})
	}
	for i := range spec.ReplicatedJobs {
		rJob := &spec.ReplicatedJobs[i]
		name := ptr.Deref(rJob.Name, "")
		job := fmt.Sprintf("-%s-%d", name, ptr.Deref(rJob.Replicas, 1)-1)
		add(job, "the names of the Jobs of %q", name)
		if jobSpec := rJob.Template.Spec; indexed(jobSpec.CompletionMode) && jobSpec.Completions != nil {
			pods := *jobSpec.Completions
			add(fmt.Sprintf("%s-%d%s", job, pods-1, podSuffix), "the names of the %d pods of %q", pods, name)
		}
	}
	for _, policy := range spec.VolumeClaimPolicies {
		for _, template := range policy.Templates {
			add("-"+template.Name, "the names of the volume claims of %q", template.Name)
		}
	}
	return limits
}

// indexed is what JobSet makes of a Job that does not say.
func indexed(mode *batchv1.CompletionMode) bool {
	return ptr.Deref(mode, batchv1.IndexedCompletion) == batchv1.IndexedCompletion
}

func checkReferences(spec *jobsetv1alpha2ac.JobSetSpecApplyConfiguration) field.ErrorList {
	var errs field.ErrorList
	known := sets.New[string]()
	for i := range spec.ReplicatedJobs {
		rJob := &spec.ReplicatedJobs[i]
		for _, on := range rJob.DependsOn {
			if before := ptr.Deref(on.Name, ""); !known.Has(before) {
				errs = append(errs, field.Invalid(runtimePath, before,
					fmt.Sprintf("replicated job %q depends on it, but it does not come before in the runtime", ptr.Deref(rJob.Name, ""))))
			}
		}
		known.Insert(ptr.Deref(rJob.Name, ""))
	}
	if spec.SuccessPolicy != nil {
		for _, name := range spec.SuccessPolicy.TargetReplicatedJobs {
			if !known.Has(name) {
				errs = append(errs, field.Invalid(runtimePath, name, "successPolicy names a replicated job that the runtime does not have"))
			}
		}
	}
	return errs
}
