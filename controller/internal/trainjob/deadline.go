// SPDX-License-Identifier: Apache-2.0

package trainjob

import (
	"context"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/jobsetstatus"
	"github.com/milepost-dev/milepost/controller/internal/logkeys"
)

// maxDeadline keeps sums of time within what can be computed. Nothing trains
// that long.
const maxDeadline = 100 * 365 * 24 * time.Hour

const messageDeadline = "TrainJob exceeded its active deadline"

// deadline is when the job has to have ended, or zero when nothing counts: there
// is no limit, or the job is suspended or has ended. The time runs from the last
// resume, or else from the creation.
func deadline(job *trainer.TrainJob) time.Time {
	if job.Spec.ActiveDeadlineSeconds <= 0 || suspended(job.Spec.Suspend) || jobsetstatus.Finished(&job.Status) {
		return time.Time{}
	}
	start := job.CreationTimestamp.Time
	resumed := apimeta.FindStatusCondition(job.Status.Conditions, trainer.TrainJobSuspended)
	if resumed != nil && resumed.Status == metav1.ConditionFalse {
		start = resumed.LastTransitionTime.Time
	}
	seconds := min(job.Spec.ActiveDeadlineSeconds, int64(maxDeadline/time.Second))
	return start.Add(time.Duration(seconds) * time.Second)
}

// enforceDeadline ends an overdue job, and otherwise returns how long it has
// left, or zero when nothing counts.
func enforceDeadline(a *attempt, now metav1.Time) time.Duration {
	end := deadline(a.job)
	if end.IsZero() {
		return 0
	}
	if left := end.Sub(now.Time); left > 0 {
		return left
	}
	setFailed(a.job, trainer.TrainJobDeadlineExceededReason, messageDeadline, now)
	a.warnings = append(a.warnings, deadlineExceeded())
	return 0
}

// cleanUp deletes the JobSet of an overdue job. It does so at every look until
// the JobSet is gone, so that no error and no restart leaves pods running. A
// JobSet that ended by itself stays, for its own time to live.
func (r *Reconciler) cleanUp(ctx context.Context, a *attempt) error {
	failed := apimeta.FindStatusCondition(a.job.Status.Conditions, trainer.TrainJobFailed)
	if failed == nil || failed.Reason != trainer.TrainJobDeadlineExceededReason {
		return nil
	}
	if a.jobSet == nil || !a.jobSet.DeletionTimestamp.IsZero() {
		return nil
	}
	ctrl.LoggerFrom(ctx).V(1).Info("deleting the JobSet of an overdue TrainJob", logkeys.JobSet, klog.KObj(a.jobSet))
	err := r.client.Delete(ctx, a.jobSet, client.Preconditions{UID: &a.jobSet.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the JobSet of an overdue TrainJob: %w", err)
	}
	return nil
}
