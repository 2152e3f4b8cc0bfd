// SPDX-License-Identifier: Apache-2.0

package trainjob

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainerv1alpha1 "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/jobsetstatus"
)

const (
	messageSuspended = "TrainJob is suspended"
	messageResumed   = "TrainJob is resumed"
)

// setSuspended keeps the condition Suspended in step with spec.suspend. A job that
// was never suspended has none, since published clients take any condition for
// "not started". One that has ended keeps what it has.
func setSuspended(job *trainerv1alpha1.TrainJob, now metav1.Time) {
	if jobsetstatus.Finished(&job.Status) {
		return
	}
	condition := metav1.Condition{
		Type:               trainerv1alpha1.TrainJobSuspended,
		ObservedGeneration: job.Generation,
		LastTransitionTime: now,
	}
	switch {
	case suspended(job.Spec.Suspend):
		condition.Status = metav1.ConditionTrue
		condition.Reason = trainerv1alpha1.TrainJobSuspendedReason
		condition.Message = messageSuspended
	case meta.FindStatusCondition(job.Status.Conditions, trainerv1alpha1.TrainJobSuspended) != nil:
		condition.Status = metav1.ConditionFalse
		condition.Reason = trainerv1alpha1.TrainJobResumedReason
		condition.Message = messageResumed
	default:
		return
	}
	meta.SetStatusCondition(&job.Status.Conditions, condition)
}

// setFailed ends the job.
func setFailed(job *trainerv1alpha1.TrainJob, reason, message string, now metav1.Time) {
	meta.SetStatusCondition(&job.Status.Conditions, metav1.Condition{
		Type:               trainerv1alpha1.TrainJobFailed,
		Status:             metav1.ConditionTrue,
		ObservedGeneration: job.Generation,
		LastTransitionTime: now,
		Reason:             reason,
		Message:            message,
	})
}
