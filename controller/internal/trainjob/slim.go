// SPDX-License-Identifier: Apache-2.0

package trainjob

import (
	corev1 "k8s.io/api/core/v1"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// SlimTrainJob is a transform for the cache of TrainJobs: it leaves out what is
// needed once, to build the JobSet, and read from the API server then. Training
// code travels in spec.trainer.command, up to a MiB an item, and thousands of
// jobs that have long ended would hold it in memory.
//
// A TrainJob from such a cache must not be written back as a whole.
func SlimTrainJob(object any) (any, error) {
	if job, ok := object.(*trainer.TrainJob); ok {
		job.Spec.Trainer = nil
		job.Spec.Initializer = nil
		job.Spec.RuntimePatches = nil
		delete(job.Annotations, corev1.LastAppliedConfigAnnotation) // holds the spec once more
	}
	return object, nil
}

// slimJobSet does the same for JobSets. Of the spec the reconciler reads suspend
// and the labels of the Job templates.
func slimJobSet(object any) (any, error) {
	jobSet, ok := object.(*jobsetv1alpha2.JobSet)
	if !ok {
		return object, nil
	}
	jobSet.ManagedFields = nil
	spec := jobsetv1alpha2.JobSetSpec{Suspend: jobSet.Spec.Suspend}
	for i := range jobSet.Spec.ReplicatedJobs {
		rJob := jobsetv1alpha2.ReplicatedJob{Name: jobSet.Spec.ReplicatedJobs[i].Name}
		rJob.Template.Labels = jobSet.Spec.ReplicatedJobs[i].Template.Labels
		spec.ReplicatedJobs = append(spec.ReplicatedJobs, rJob)
	}
	jobSet.Spec = spec
	return jobSet, nil
}
