// SPDX-License-Identifier: Apache-2.0

package trainjob

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/jobsetstatus"
	"github.com/milepost-dev/milepost/controller/internal/testkit/builders"
)

func TestSlimTrainJobLeavesOutWhatIsReadOnce(t *testing.T) {
	full := builders.MakeTrainJob("ns", "job").UID("u").Suspend(true).Deadline(9).Command("large").Model(trainer.ModelInitializer{}).
		Patch("a/b", trainer.JobSetTemplatePatch{}).State("Running").Progress(4, noon).Obj()
	full.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "large", "kept": "yes"}
	want := builders.MakeTrainJob("ns", "job").UID("u").Suspend(true).Deadline(9).State("Running").Progress(4, noon).Obj()
	want.Annotations = map[string]string{"kept": "yes"}
	got, err := SlimTrainJob(full)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("SlimTrainJob() (-want +got):\n%s", diff)
	}
	if other, err := SlimTrainJob("other"); other != "other" || err != nil {
		t.Errorf("SlimTrainJob() = %v, %v for what is no TrainJob", other, err)
	}
}

func TestSlimJobSetSaysTheSameAboutTheTrainJob(t *testing.T) {
	full := builders.MakeJobSet("ns", "job").Job("init", "dataset-initializer").Suspend(false).
		Counts(jobsetv1alpha2.ReplicatedJobStatus{Name: "node", Ready: 1}).
		Condition(jobsetv1alpha2.JobSetCompleted, "AllJobsCompleted", "done", noon).Obj()
	full.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "trainer"}}
	full.OwnerReferences = []metav1.OwnerReference{{UID: "u"}}
	object, err := slimJobSet(full.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	slim := object.(*jobsetv1alpha2.JobSet)
	if len(slim.ManagedFields) != 0 || len(slim.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers) != 0 {
		t.Errorf("slimJobSet() = %v, want no managed fields and no pods", slim)
	}
	if diff := cmp.Diff(full.OwnerReferences, slim.OwnerReferences); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	statusFrom := func(jobSet *jobsetv1alpha2.JobSet) *trainer.TrainJob {
		job := builders.MakeTrainJob("ns", "job").Obj()
		job.Status.State = jobsetstatus.State(job, jobSet, false)
		jobsetstatus.Mirror(&job.Status, jobSet, 1)
		return job
	}
	if diff := cmp.Diff(statusFrom(full), statusFrom(slim)); diff != "" {
		t.Errorf("status (-full +slim):\n%s", diff)
	}
	if other, err := slimJobSet("other"); other != "other" || err != nil {
		t.Errorf("slimJobSet() = %v, %v for what is no JobSet", other, err)
	}
}
