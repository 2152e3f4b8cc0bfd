// SPDX-License-Identifier: Apache-2.0

package localrun

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/localrun/jobfile"
)

const reasonLost = "RunLost"

// Load reads the TrainJob of a run from its file, with a state that is true now.
func Load(path string) (*trainer.TrainJob, error) {
	job, err := jobfile.Read(path)
	if err != nil {
		return nil, err
	}
	if job.Status.State == trainer.TrainJobStateRunning && !jobfile.Held(path) {
		// The run may have ended between the two looks.
		if job, err = jobfile.Read(path); err != nil {
			return nil, err
		}
		if job.Status.State == trainer.TrainJobStateRunning {
			markLost(job)
		}
	}
	return job, nil
}

// LoadAll reads the TrainJobs of a namespace, or of all when it is empty, as
// Load does. Files that cannot be read are in the error, beside the others.
func LoadAll(dir jobfile.Dir, namespace string) ([]*trainer.TrainJob, error) {
	return dir.List(namespace, Load)
}

// markLost says of a run that was killed, or whose machine went down, what
// nobody was left to write.
func markLost(job *trainer.TrainJob) {
	since := job.CreationTimestamp
	if s := job.Status.TrainerStatus; s != nil && s.LastUpdatedTime.After(since.Time) {
		since = s.LastUpdatedTime
	}
	job.Status.State = trainer.TrainJobStateFailed
	job.Status.JobsStatus = jobsStatus(trainer.TrainJobStateFailed)
	job.Status.Conditions = []metav1.Condition{{
		Type: trainer.TrainJobFailed, Status: metav1.ConditionTrue, Reason: reasonLost, LastTransitionTime: since,
		Message: "the run ended without recording how",
	}}
}
