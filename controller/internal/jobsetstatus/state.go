// SPDX-License-Identifier: Apache-2.0

package jobsetstatus

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// State is the word that says what the TrainJob is doing, by its present spec and
// conditions. jobSet is nil when there is none; blocked says that it could not be
// made. The conditions must be up to date.
func State(job *trainer.TrainJob, jobSet *jobsetv1alpha2.JobSet, blocked bool) trainer.TrainJobState {
	switch {
	case apimeta.IsStatusConditionTrue(job.Status.Conditions, trainer.TrainJobFailed):
		return trainer.TrainJobStateFailed
	case apimeta.IsStatusConditionTrue(job.Status.Conditions, trainer.TrainJobComplete):
		return trainer.TrainJobStateComplete
	case blocked:
		return trainer.TrainJobStateBlocked
	case ptr.Deref(job.Spec.Suspend, false):
		return trainer.TrainJobStateSuspended
	case jobSet != nil && running(job.Status.State, jobSet):
		return trainer.TrainJobStateRunning
	}
	return trainer.TrainJobStateCreated
}

// running needs every training pod to be up once. "Active" alone is not enough,
// since JobSet counts pods that wait for a node or an image as active. After that
// it is enough: one pod that starts again does not stop the training of the rest.
func running(before trainer.TrainJobState, jobSet *jobsetv1alpha2.JobSet) bool {
	if ptr.Deref(jobSet.Spec.Suspend, false) {
		return false
	}
	for _, s := range jobSet.Status.ReplicatedJobsStatus {
		if !trains(jobSet, s.Name) {
			continue
		}
		if s.Ready > 0 || s.Succeeded > 0 {
			return true
		}
		if s.Active > 0 && before == trainer.TrainJobStateRunning {
			return true
		}
	}
	return false
}

func trains(jobSet *jobsetv1alpha2.JobSet, rJob string) bool {
	for i := range jobSet.Spec.ReplicatedJobs {
		if jobSet.Spec.ReplicatedJobs[i].Name == rJob {
			labels := jobSet.Spec.ReplicatedJobs[i].Template.Labels
			return labels[trainer.LabelTrainJobAncestor] == trainer.AncestorTrainer
		}
	}
	return false
}
