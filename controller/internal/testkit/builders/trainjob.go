// SPDX-License-Identifier: Apache-2.0

// Package builders makes objects for tests: Make…("ns", "name").Field(…).Obj().
//
// It owns defaults that are valid, so that a test names only what it is about.
// Every call of Obj returns an object of its own.
package builders

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// TrainJob builds a TrainJob.
type TrainJob struct {
	obj trainer.TrainJob
}

// MakeTrainJob starts with a TrainJob that names the ClusterTrainingRuntime
// "runtime", with the defaults of the CRD.
func MakeTrainJob(namespace, name string) *TrainJob {
	return &TrainJob{obj: trainer.TrainJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: trainer.GroupVersion.String(), Kind: trainer.TrainJobKind},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: trainer.TrainJobSpec{
			RuntimeRef: trainer.RuntimeRef{
				Name:     "runtime",
				APIGroup: ptr.To(trainer.GroupName),
				Kind:     ptr.To(trainer.ClusterTrainingRuntimeKind),
			},
			Suspend:   new(false),
			ManagedBy: ptr.To(trainer.ManagedByTrainJobController),
		},
	}}
}

// Obj returns a copy of what was built.
func (b *TrainJob) Obj() *trainer.TrainJob { return b.obj.DeepCopy() }

// UID sets metadata.uid.
func (b *TrainJob) UID(uid types.UID) *TrainJob { b.obj.UID = uid; return b }

// ResourceVersion sets metadata.resourceVersion.
func (b *TrainJob) ResourceVersion(version string) *TrainJob {
	b.obj.ResourceVersion = version
	return b
}

// Generation sets metadata.generation.
func (b *TrainJob) Generation(n int64) *TrainJob { b.obj.Generation = n; return b }

// Created sets metadata.creationTimestamp.
func (b *TrainJob) Created(at time.Time) *TrainJob {
	b.obj.CreationTimestamp = metav1.NewTime(at)
	return b
}

// Label sets one label.
func (b *TrainJob) Label(key, value string) *TrainJob {
	metav1.SetMetaDataLabel(&b.obj.ObjectMeta, key, value)
	return b
}

// Runtime names a ClusterTrainingRuntime.
func (b *TrainJob) Runtime(name string) *TrainJob { b.obj.Spec.RuntimeRef.Name = name; return b }

// RuntimeKind sets group and kind of the reference.
func (b *TrainJob) RuntimeKind(group, kind string) *TrainJob {
	b.obj.Spec.RuntimeRef.APIGroup, b.obj.Spec.RuntimeRef.Kind = &group, &kind
	return b
}

// NamespacedRuntime names a TrainingRuntime.
func (b *TrainJob) NamespacedRuntime(name string) *TrainJob {
	return b.Runtime(name).RuntimeKind(trainer.GroupName, trainer.TrainingRuntimeKind)
}

// Suspend sets spec.suspend.
func (b *TrainJob) Suspend(suspend bool) *TrainJob { b.obj.Spec.Suspend = &suspend; return b }

// ManagedBy sets spec.managedBy.
func (b *TrainJob) ManagedBy(manager string) *TrainJob { b.obj.Spec.ManagedBy = &manager; return b }

// Deadline sets spec.activeDeadlineSeconds.
func (b *TrainJob) Deadline(seconds int64) *TrainJob {
	b.obj.Spec.ActiveDeadlineSeconds = seconds
	return b
}

// EmptyTrainer sets spec.trainer to an object without fields.
func (b *TrainJob) EmptyTrainer() *TrainJob { b.trainer(); return b }

// NumNodes sets spec.trainer.numNodes.
func (b *TrainJob) NumNodes(n int32) *TrainJob { b.trainer().NumNodes = &n; return b }

// NumProcPerNode sets spec.trainer.numProcPerNode.
func (b *TrainJob) NumProcPerNode(n int32) *TrainJob { b.trainer().NumProcPerNode = &n; return b }

// Image sets spec.trainer.image.
func (b *TrainJob) Image(image string) *TrainJob { b.trainer().Image = &image; return b }

// Command sets spec.trainer.command.
func (b *TrainJob) Command(command ...string) *TrainJob { b.trainer().Command = command; return b }

// Args sets spec.trainer.args.
func (b *TrainJob) Args(args ...string) *TrainJob { b.trainer().Args = args; return b }

// Env adds a variable to spec.trainer.env.
func (b *TrainJob) Env(name, value string) *TrainJob {
	b.trainer().Env = append(b.trainer().Env, corev1.EnvVar{Name: name, Value: value})
	return b
}

// Request adds a request to spec.trainer.resourcesPerNode.
func (b *TrainJob) Request(name corev1.ResourceName, quantity string) *TrainJob {
	setQuantity(&b.resources().Requests, name, quantity)
	return b
}

// Limit adds a limit to spec.trainer.resourcesPerNode.
func (b *TrainJob) Limit(name corev1.ResourceName, quantity string) *TrainJob {
	setQuantity(&b.resources().Limits, name, quantity)
	return b
}

// Dataset sets spec.initializer.dataset.
func (b *TrainJob) Dataset(dataset trainer.DatasetInitializer) *TrainJob {
	b.initializer().Dataset = &dataset
	return b
}

// Model sets spec.initializer.model.
func (b *TrainJob) Model(model trainer.ModelInitializer) *TrainJob {
	b.initializer().Model = &model
	return b
}

// Patch adds a patch of the JobSet template to spec.runtimePatches.
func (b *TrainJob) Patch(manager string, template trainer.JobSetTemplatePatch) *TrainJob {
	b.obj.Spec.RuntimePatches = append(b.obj.Spec.RuntimePatches, trainer.RuntimePatch{
		Manager:             manager,
		TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{Template: &template},
	})
	return b
}

// PodPatch adds a patch of the pods of one replicated job to spec.runtimePatches.
func (b *TrainJob) PodPatch(manager, replicatedJob string, pod trainer.PodSpecPatch) *TrainJob {
	return b.Patch(manager, trainer.JobSetTemplatePatch{
		Spec: &trainer.JobSetSpecPatch{ReplicatedJobs: []trainer.ReplicatedJobPatch{{
			Name: replicatedJob,
			Template: &trainer.JobTemplatePatch{Spec: &trainer.JobSpecPatch{
				Template: &trainer.PodTemplatePatch{Spec: &pod},
			}},
		}}},
	})
}

// Condition adds a condition to the status.
func (b *TrainJob) Condition(kind string, status metav1.ConditionStatus, reason string, since time.Time) *TrainJob {
	b.obj.Status.Conditions = append(b.obj.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(since),
	})
	return b
}

// State sets status.state.
func (b *TrainJob) State(state trainer.TrainJobState) *TrainJob {
	b.obj.Status.State = state
	return b
}

// Progress sets status.trainerStatus.
func (b *TrainJob) Progress(percent int32, at time.Time) *TrainJob {
	b.obj.Status.TrainerStatus = &trainer.TrainerStatus{
		ProgressPercentage: &percent,
		LastUpdatedTime:    metav1.NewTime(at),
	}
	return b
}

func (b *TrainJob) trainer() *trainer.Trainer {
	if b.obj.Spec.Trainer == nil {
		b.obj.Spec.Trainer = &trainer.Trainer{}
	}
	return b.obj.Spec.Trainer
}

func (b *TrainJob) resources() *corev1.ResourceRequirements {
	if b.trainer().ResourcesPerNode == nil {
		b.trainer().ResourcesPerNode = &corev1.ResourceRequirements{}
	}
	return b.trainer().ResourcesPerNode
}

func (b *TrainJob) initializer() *trainer.Initializer {
	if b.obj.Spec.Initializer == nil {
		b.obj.Spec.Initializer = &trainer.Initializer{}
	}
	return b.obj.Spec.Initializer
}

func setQuantity(list *corev1.ResourceList, name corev1.ResourceName, quantity string) {
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	(*list)[name] = resource.MustParse(quantity)
}

// FromTrainJob goes on building from a copy of an object.
func FromTrainJob(obj *trainer.TrainJob) *TrainJob {
	return &TrainJob{obj: *obj.DeepCopy()}
}
