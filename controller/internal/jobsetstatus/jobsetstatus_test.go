// SPDX-License-Identifier: Apache-2.0

package jobsetstatus_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/jobsetstatus"
	"github.com/milepost-dev/milepost/controller/internal/testkit/builders"
)

var (
	before = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	after  = before.Add(time.Hour)
)

func TestMirrorConditions(t *testing.T) {
	condition := func(kind, reason, message string, at time.Time) metav1.Condition {
		return metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message,
			LastTransitionTime: metav1.NewTime(at), ObservedGeneration: 3,
		}
	}
	tests := map[string]struct {
		job    *builders.TrainJob
		jobSet *builders.JobSet
		want   []metav1.Condition
	}{
		"a running JobSet leads to none": {
			job:    builders.MakeTrainJob("ns", "job"),
			jobSet: builders.MakeJobSet("ns", "job").Condition(jobsetv1alpha2.JobSetStartupPolicyCompleted, "X", "y", after),
		},
		"a suspended JobSet leads to none: the TrainJob decides": {
			job:    builders.MakeTrainJob("ns", "job"),
			jobSet: builders.MakeJobSet("ns", "job").Condition(jobsetv1alpha2.JobSetSuspended, "SuspendedJobs", "y", after),
		},
		"complete is copied": {
			job:    builders.MakeTrainJob("ns", "job"),
			jobSet: builders.MakeJobSet("ns", "job").Condition(jobsetv1alpha2.JobSetCompleted, "AllJobsCompleted", "jobset completed successfully", after),
			want:   []metav1.Condition{condition("Complete", "AllJobsCompleted", "jobset completed successfully", after)},
		},
		"failed is copied": {
			job:    builders.MakeTrainJob("ns", "job"),
			jobSet: builders.MakeJobSet("ns", "job").Condition(jobsetv1alpha2.JobSetFailed, "FailedJobs", "jobset failed due to one or more job failures", after),
			want:   []metav1.Condition{condition("Failed", "FailedJobs", "jobset failed due to one or more job failures", after)},
		},
		"the end stays what it was first": {
			job:    builders.MakeTrainJob("ns", "job").Condition("Failed", metav1.ConditionTrue, "DeadlineExceeded", before),
			jobSet: builders.MakeJobSet("ns", "job").Condition(jobsetv1alpha2.JobSetCompleted, "AllJobsCompleted", "done", after),
			want: []metav1.Condition{{
				Type: "Failed", Status: metav1.ConditionTrue, Reason: "DeadlineExceeded", LastTransitionTime: metav1.NewTime(before),
			}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			status := &tc.job.Obj().Status
			jobsetstatus.Mirror(status, tc.jobSet.Obj(), 3)
			if diff := cmp.Diff(tc.want, status.Conditions); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMirrorIgnoresConditionsThatAreNotTrue(t *testing.T) {
	jobSet := builders.MakeJobSet("ns", "job").Condition(jobsetv1alpha2.JobSetFailed, "X", "y", after).Obj()
	jobSet.Status.Conditions[0].Status = metav1.ConditionFalse
	status := &trainer.TrainJobStatus{}
	jobsetstatus.Mirror(status, jobSet, 1)
	if len(status.Conditions) != 0 {
		t.Errorf("conditions = %v", status.Conditions)
	}
}

func TestMirrorCounts(t *testing.T) {
	status := &builders.MakeTrainJob("ns", "job").Progress(40, before).Obj().Status
	status.JobsStatus = []trainer.JobStatus{{Name: "gone"}}
	jobsetstatus.Mirror(status, builders.MakeJobSet("ns", "job").
		Counts(jobsetv1alpha2.ReplicatedJobStatus{Name: "node", Ready: 1, Succeeded: 2, Failed: 3, Active: 4, Suspended: 5}).
		Counts(jobsetv1alpha2.ReplicatedJobStatus{Name: "init"}).Obj(), 1)
	want := []trainer.JobStatus{
		{Name: "node", Ready: ptr.To[int32](1), Succeeded: ptr.To[int32](2), Failed: ptr.To[int32](3), Active: ptr.To[int32](4), Suspended: ptr.To[int32](5)},
		{Name: "init", Ready: ptr.To[int32](0), Succeeded: ptr.To[int32](0), Failed: ptr.To[int32](0), Active: ptr.To[int32](0), Suspended: ptr.To[int32](0)},
	}
	if diff := cmp.Diff(want, status.JobsStatus); diff != "" {
		t.Errorf("jobsStatus (-want +got):\n%s", diff)
	}
	if *status.TrainerStatus.ProgressPercentage != 40 {
		t.Error("trainerStatus was touched")
	}
}

func TestState(t *testing.T) {
	node := func(ready, active, succeeded int32) jobsetv1alpha2.ReplicatedJobStatus {
		return jobsetv1alpha2.ReplicatedJobStatus{Name: "node", Ready: ready, Active: active, Succeeded: succeeded}
	}
	job := func() *builders.TrainJob { return builders.MakeTrainJob("ns", "job") }
	tests := map[string]struct {
		job     *builders.TrainJob
		jobSet  *builders.JobSet
		blocked bool
		want    trainer.TrainJobState
	}{
		"nothing made yet":                          {job: job(), want: "Created"},
		"nothing could be made":                     {job: job(), blocked: true, want: "Blocked"},
		"nothing could be made of a suspended one":  {job: job().Suspend(true), blocked: true, want: "Blocked"},
		"a JobSet without a status":                 {job: job(), jobSet: builders.MakeJobSet("ns", "job"), want: "Created"},
		"pods that wait for a node or an image":     {job: job(), jobSet: builders.MakeJobSet("ns", "job").Counts(node(0, 1, 0)), want: "Created"},
		"all training pods up":                      {job: job(), jobSet: builders.MakeJobSet("ns", "job").Counts(node(1, 1, 0)), want: "Running"},
		"training pods done, the JobSet not yet":    {job: job(), jobSet: builders.MakeJobSet("ns", "job").Counts(node(0, 0, 1)), want: "Running"},
		"a pod starting again while running":        {job: job().State("Running"), jobSet: builders.MakeJobSet("ns", "job").Counts(node(0, 1, 0)), want: "Running"},
		"all pods gone while running":               {job: job().State("Running"), jobSet: builders.MakeJobSet("ns", "job").Counts(node(0, 0, 0)), want: "Created"},
		"held back":                                 {job: job().Suspend(true), jobSet: builders.MakeJobSet("ns", "job").Suspend(true), want: "Suspended"},
		"held back, pods not gone yet":              {job: job().Suspend(true).State("Running"), jobSet: builders.MakeJobSet("ns", "job").Counts(node(1, 1, 0)), want: "Suspended"},
		"let go, the JobSet not yet":                {job: job().State("Suspended"), jobSet: builders.MakeJobSet("ns", "job").Suspend(true).Counts(node(1, 1, 0)), want: "Created"},
		"let go, pods not up yet":                   {job: job().State("Suspended"), jobSet: builders.MakeJobSet("ns", "job").Suspend(false).Counts(node(0, 1, 0)), want: "Created"},
		"an initializer runs, the trainer does not": {job: job(), jobSet: builders.MakeJobSet("ns", "job").Job("init", "dataset-initializer").Counts(jobsetv1alpha2.ReplicatedJobStatus{Name: "init", Ready: 1, Active: 1}).Counts(node(0, 0, 0)), want: "Created"},
		"the trainer has another name":              {job: job(), jobSet: builders.MakeJobSet("ns", "job").Job("workers", "trainer").Counts(jobsetv1alpha2.ReplicatedJobStatus{Name: "workers", Ready: 1}), want: "Running"},
		"counts of a job that is not in the JobSet": {job: job(), jobSet: builders.MakeJobSet("ns", "job").Counts(jobsetv1alpha2.ReplicatedJobStatus{Name: "gone", Ready: 1}), want: "Created"},
		"complete":                               {job: job().Condition("Complete", metav1.ConditionTrue, "X", before), jobSet: builders.MakeJobSet("ns", "job").Counts(node(1, 1, 0)), want: "Complete"},
		"failed":                                 {job: job().Condition("Failed", metav1.ConditionTrue, "X", before), blocked: true, want: "Failed"},
		"complete and suspended afterwards":      {job: job().Suspend(true).Condition("Complete", metav1.ConditionTrue, "X", before), want: "Complete"},
		"resumed, with the condition that stays": {job: job().Condition("Suspended", metav1.ConditionFalse, "Resumed", before), jobSet: builders.MakeJobSet("ns", "job").Counts(node(1, 1, 0)), want: "Running"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var jobSet *jobsetv1alpha2.JobSet
			if tc.jobSet != nil {
				jobSet = tc.jobSet.Obj()
			}
			if got := jobsetstatus.State(tc.job.Obj(), jobSet, tc.blocked); got != tc.want {
				t.Errorf("State() = %s, want %s", got, tc.want)
			}
		})
	}
}
