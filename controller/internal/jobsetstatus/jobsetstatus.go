// SPDX-License-Identifier: Apache-2.0

// Package jobsetstatus reads off a JobSet how its TrainJob is doing.
//
// It owns the conditions Complete and Failed that come from the JobSet, the job
// counts, and the word behind the STATE column. It is pure: no client, no clock.
// It does not own Suspended or the deadline, which the TrainJob decides itself.
package jobsetstatus

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// Finished says that a TrainJob has ended, for good.
func Finished(status *trainer.TrainJobStatus) bool {
	return apimeta.IsStatusConditionTrue(status.Conditions, trainer.TrainJobComplete) ||
		apimeta.IsStatusConditionTrue(status.Conditions, trainer.TrainJobFailed)
}

// Mirror copies the counts of the JobSet and, when it has ended, how. A TrainJob
// that has ended before keeps its conditions: the first end is the one that
// counts. generation is that of the TrainJob.
func Mirror(status *trainer.TrainJobStatus, jobSet *jobsetv1alpha2.JobSet, generation int64) {
	status.JobsStatus = jobsStatus(jobSet)
	if Finished(status) {
		return
	}
	ends := []struct{ from, to string }{
		{string(jobsetv1alpha2.JobSetCompleted), trainer.TrainJobComplete},
		{string(jobsetv1alpha2.JobSetFailed), trainer.TrainJobFailed},
	}
	for _, end := range ends {
		found := apimeta.FindStatusCondition(jobSet.Status.Conditions, end.from)
		if found == nil || found.Status != metav1.ConditionTrue {
			continue
		}
		apimeta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type:               end.to,
			Status:             metav1.ConditionTrue,
			ObservedGeneration: generation,
			LastTransitionTime: found.LastTransitionTime,
			Reason:             found.Reason,
			Message:            found.Message,
		})
		return
	}
}

// jobsStatus writes zeros too: published clients take a missing count for a
// broken object.
func jobsStatus(jobSet *jobsetv1alpha2.JobSet) []trainer.JobStatus {
	var out []trainer.JobStatus
	for _, s := range jobSet.Status.ReplicatedJobsStatus {
		out = append(out, trainer.JobStatus{
			Name:      s.Name,
			Ready:     new(s.Ready),
			Succeeded: new(s.Succeeded),
			Failed:    new(s.Failed),
			Active:    new(s.Active),
			Suspended: new(s.Suspended),
		})
	}
	return out
}
