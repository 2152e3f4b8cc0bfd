// SPDX-License-Identifier: Apache-2.0

package trainjob

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/jobsetstatus"
)

const (
	messageSuspended = "TrainJob is suspended"
	messageResumed   = "TrainJob is resumed"
)

// setSuspended keeps the condition Suspended in step with spec.suspend. A job that
// was never suspended has none, since published clients take any condition for
// "not started". One that has ended keeps what it has.
func setSuspended(job *trainer.TrainJob, now metav1.Time) {
	if jobsetstatus.Finished(&job.Status) {
		return
	}
	condition := metav1.Condition{
		Type:               trainer.TrainJobSuspended,
		ObservedGeneration: job.Generation,
		LastTransitionTime: now,
	}
	switch {
	case suspended(job.Spec.Suspend):
		condition.Status = metav1.ConditionTrue
		condition.Reason = trainer.TrainJobSuspendedReason
		condition.Message = messageSuspended
	case apimeta.FindStatusCondition(job.Status.Conditions, trainer.TrainJobSuspended) != nil:
		condition.Status = metav1.ConditionFalse
		condition.Reason = trainer.TrainJobResumedReason
		condition.Message = messageResumed
	default:
		return
	}
	apimeta.SetStatusCondition(&job.Status.Conditions, condition)
}

// setFailed ends the job.
func setFailed(job *trainer.TrainJob, reason, message string, now metav1.Time) {
	apimeta.SetStatusCondition(&job.Status.Conditions, metav1.Condition{
		Type:               trainer.TrainJobFailed,
		Status:             metav1.ConditionTrue,
		ObservedGeneration: job.Generation,
		LastTransitionTime: now,
		Reason:             reason,
		Message:            message,
	})
}
