// SPDX-License-Identifier: Apache-2.0

package builders

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// JobSet builds a JobSet.
type JobSet struct {
	obj jobsetv1alpha2.JobSet
}

// MakeJobSet starts with a JobSet whose replicated job "node" trains.
func MakeJobSet(namespace, name string) *JobSet {
	b := &JobSet{obj: jobsetv1alpha2.JobSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}}
	return b.Job("node", trainer.AncestorTrainer)
}

// Obj returns a copy of what was built.
func (b *JobSet) Obj() *jobsetv1alpha2.JobSet { return b.obj.DeepCopy() }

// Job appends a replicated job with one container of the same name.
func (b *JobSet) Job(name, ancestor string) *JobSet {
	rJob := jobsetv1alpha2.ReplicatedJob{Name: name, Replicas: 1}
	rJob.Template.Spec.Template.Spec.Containers = []corev1.Container{MakeContainer(name)}
	rJob.Template.Labels = map[string]string{trainer.LabelTrainJobAncestor: ancestor}
	b.obj.Spec.ReplicatedJobs = append(b.obj.Spec.ReplicatedJobs, rJob)
	return b
}

// Suspend sets spec.suspend.
func (b *JobSet) Suspend(suspend bool) *JobSet { b.obj.Spec.Suspend = &suspend; return b }

// Counts appends the status of a replicated job.
func (b *JobSet) Counts(status jobsetv1alpha2.ReplicatedJobStatus) *JobSet {
	b.obj.Status.ReplicatedJobsStatus = append(b.obj.Status.ReplicatedJobsStatus, status)
	return b
}

// Condition adds a condition that is true.
func (b *JobSet) Condition(kind jobsetv1alpha2.JobSetConditionType, reason, message string, since time.Time) *JobSet {
	b.obj.Status.Conditions = append(b.obj.Status.Conditions, metav1.Condition{
		Type: string(kind), Status: metav1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(since),
	})
	return b
}
