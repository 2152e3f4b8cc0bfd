// SPDX-License-Identifier: Apache-2.0

package localrun

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/latest"
	"github.com/milepost-dev/milepost/controller/internal/localrun/command"
	"github.com/milepost-dev/milepost/controller/internal/localrun/jobfile"
	"github.com/milepost-dev/milepost/controller/internal/report"
	"github.com/milepost-dev/milepost/controller/internal/statuswriter"
)

// Reasons of the conditions, as they come from a JobSet in a cluster.
const (
	reasonCompleted = "AllJobsCompleted"
	reasonFailed    = "FailedJobs"
	// RuntimeName is the runtime that a local run names. It exists in no cluster.
	RuntimeName = "milepost-local-run"
	nodeJob     = "node"
)

// record is the TrainJob of a run and its file: what the API server is in a
// cluster.
type record struct {
	clock clock.PassiveClock
	path  string
	say   func(text string)

	mu      sync.Mutex
	failing bool
	job     *trainer.TrainJob
	kept    report.Kept
	version int
}

var (
	_ statuswriter.Target = (*record)(nil)
	_ latest.Keeper       = (*record)(nil)
)

// begin writes the TrainJob for the first time.
func (r *record) begin() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.job.Status.State = trainer.TrainJobStateRunning
	r.job.Status.JobsStatus = jobsStatus(trainer.TrainJobStateRunning)
	return jobfile.Write(r.path, r.job, true)
}

// Load returns what is stored.
func (r *record) Load(_ context.Context, job report.JobKey) (report.Kept, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if job.Namespace != r.job.Namespace || job.Name != r.job.Name {
		return report.Kept{}, report.Refuse(report.ErrUnknownJob, "gone", "Train job not found")
	}
	return r.kept, nil
}

// Store writes a report. A final one is on the disk when Store returns.
func (r *record) Store(_ context.Context, _ report.JobKey, kept report.Kept, rep report.Report) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if kept.Version != r.kept.Version {
		return report.ErrConflict
	}
	before := r.job.Status.TrainerStatus
	r.job.Status.TrainerStatus = toTrainerStatus(rep)
	if err := jobfile.Write(r.path, r.job, rep.Final()); err != nil {
		r.job.Status.TrainerStatus = before
		if !r.failing {
			r.say(err.Error() + "; trying again until it works")
		}
		r.failing = true
		return err
	}
	r.failing = false
	r.version++
	r.kept = report.Kept{
		JobUID: r.job.UID, Report: &rep, Version: strconv.Itoa(r.version), WrittenTime: r.clock.Now(),
	}
	return nil
}

// finish writes how the command ended. The last report stays as it is: only the
// training itself knows whether it is complete.
func (r *record) finish(exit command.Exit) (*trainer.TrainJob, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	state, condition := outcome(exit)
	condition.LastTransitionTime = metav1.NewTime(r.clock.Now().UTC().Truncate(second))
	r.job.Status.State = state
	r.job.Status.JobsStatus = jobsStatus(state)
	r.job.Status.Conditions = []metav1.Condition{condition}
	return r.job, jobfile.Write(r.path, r.job, true)
}

// outcome is what an exit code means for the TrainJob.
func outcome(exit command.Exit) (trainer.TrainJobState, metav1.Condition) {
	if exit.Code == 0 {
		return trainer.TrainJobStateComplete, metav1.Condition{
			Type: trainer.TrainJobComplete, Status: metav1.ConditionTrue,
			Reason: reasonCompleted, Message: "the command completed successfully",
		}
	}
	message := fmt.Sprintf("the command failed with exit code %d", exit.Code)
	if exit.Signal != "" {
		message = fmt.Sprintf("the command was ended by %s (exit code %d)", exit.Signal, exit.Code)
	}
	return trainer.TrainJobStateFailed, metav1.Condition{
		Type: trainer.TrainJobFailed, Status: metav1.ConditionTrue, Reason: reasonFailed, Message: message,
	}
}

// jobsStatus counts the one job of a local run.
func jobsStatus(state trainer.TrainJobState) []trainer.JobStatus {
	count := func(is bool) *int32 {
		if is {
			return new(int32(1))
		}
		return new(int32(0))
	}
	running, complete := state == trainer.TrainJobStateRunning, state == trainer.TrainJobStateComplete
	return []trainer.JobStatus{{
		Name:      nodeJob,
		Ready:     count(running),
		Active:    count(running),
		Succeeded: count(complete),
		Failed:    count(state == trainer.TrainJobStateFailed),
		Suspended: count(false),
	}}
}

func toTrainerStatus(rep report.Report) *trainer.TrainerStatus {
	status := &trainer.TrainerStatus{
		ProgressPercentage:        rep.ProgressPercentage,
		EstimatedRemainingSeconds: rep.EstimatedRemainingSeconds,
		LastUpdatedTime:           metav1.NewTime(rep.LastUpdatedTime),
	}
	for _, m := range rep.Metrics {
		status.Metrics = append(status.Metrics, trainer.Metric{Name: m.Name, Value: m.Value})
	}
	return status
}
