// SPDX-License-Identifier: Apache-2.0

package builders

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// Runtime builds a TrainingRuntime or a ClusterTrainingRuntime.
type Runtime struct {
	meta metav1.ObjectMeta
	spec trainer.TrainingRuntimeSpec
}

// MakeRuntime starts with a runtime whose replicated job "node" trains in a
// container "node", on one node, without a framework.
func MakeRuntime(name string) *Runtime {
	r := MakeEmptyRuntime(name)
	r.spec.MLPolicy = &trainer.MLPolicy{}
	return r.Job("node", trainer.AncestorTrainer, MakeContainer("node"))
}

// MakeEmptyRuntime starts with a runtime that has no replicated job.
func MakeEmptyRuntime(name string) *Runtime {
	return &Runtime{meta: metav1.ObjectMeta{Name: name}}
}

// MakeContainer is a container with an image.
func MakeContainer(name string) corev1.Container {
	return corev1.Container{Name: name, Image: "example.com/" + name + ":1"}
}

// Job appends a replicated job; ancestor may be empty.
func (b *Runtime) Job(name, ancestor string, containers ...corev1.Container) *Runtime {
	rJob := jobsetv1alpha2.ReplicatedJob{Name: name, Replicas: 1}
	if ancestor != "" {
		rJob.Template.Labels = map[string]string{trainer.LabelTrainJobAncestor: ancestor}
	}
	rJob.Template.Spec.Template.Spec.Containers = containers
	b.spec.Template.Spec.ReplicatedJobs = append(b.spec.Template.Spec.ReplicatedJobs, rJob)
	return b
}

// Initializers prepends the two jobs that fetch a data set and a model.
func (b *Runtime) Initializers() *Runtime {
	trainers := b.spec.Template.Spec.ReplicatedJobs
	b.spec.Template.Spec.ReplicatedJobs = nil
	for _, name := range []string{trainer.AncestorDatasetInitializer, trainer.AncestorModelInitializer} {
		container := MakeContainer(name)
		container.VolumeMounts = []corev1.VolumeMount{{Name: "initializer", MountPath: "/workspace"}}
		b.Job(name, name, container)
	}
	b.spec.Template.Spec.ReplicatedJobs = append(b.spec.Template.Spec.ReplicatedJobs, trainers...)
	return b
}

// NumNodes sets spec.mlPolicy.numNodes.
func (b *Runtime) NumNodes(n int32) *Runtime { b.policy().NumNodes = &n; return b }

// Torch makes it a PyTorch runtime. Each target is a replicated job and one
// container of it that gets the variables too.
func (b *Runtime) Torch(targets ...trainer.EnvInjectionTarget) *Runtime {
	b.policy().Torch = &trainer.TorchMLPolicySource{}
	if len(targets) > 0 {
		b.policy().Torch.EnvInjection = &trainer.EnvInjection{Targets: targets}
	}
	return b
}

// JAX makes it a JAX runtime.
func (b *Runtime) JAX() *Runtime { b.policy().JAX = &trainer.JAXMLPolicySource{}; return b }

// XGBoost makes it an XGBoost runtime.
func (b *Runtime) XGBoost() *Runtime {
	b.policy().XGBoost = &trainer.XGBoostMLPolicySource{}
	return b
}

// MPI makes it an MPI runtime.
func (b *Runtime) MPI() *Runtime { b.policy().MPI = &trainer.MPIMLPolicySource{}; return b }

// Flux makes it a Flux runtime.
func (b *Runtime) Flux() *Runtime { b.policy().Flux = &trainer.FluxMLPolicySource{}; return b }

// PodGroup asks for gang scheduling.
func (b *Runtime) PodGroup() *Runtime {
	b.spec.PodGroupPolicy = &trainer.PodGroupPolicy{
		PodGroupPolicySource: trainer.PodGroupPolicySource{Coscheduling: &trainer.CoschedulingPodGroupPolicySource{}},
	}
	return b
}

// NoPolicy removes spec.mlPolicy.
func (b *Runtime) NoPolicy() *Runtime { b.spec.MLPolicy = nil; return b }

// Label sets a label of the runtime itself.
func (b *Runtime) Label(key, value string) *Runtime {
	metav1.SetMetaDataLabel(&b.meta, key, value)
	return b
}

// TemplateLabel sets a label of the JobSet.
func (b *Runtime) TemplateLabel(key, value string) *Runtime {
	metav1.SetMetaDataLabel(&b.spec.Template.ObjectMeta, key, value)
	return b
}

// TemplateAnnotation sets an annotation of the JobSet.
func (b *Runtime) TemplateAnnotation(key, value string) *Runtime {
	metav1.SetMetaDataAnnotation(&b.spec.Template.ObjectMeta, key, value)
	return b
}

// Edit changes the JobSet of the template in ways that have no method.
func (b *Runtime) Edit(edit func(*jobsetv1alpha2.JobSetSpec)) *Runtime {
	edit(&b.spec.Template.Spec)
	return b
}

// EditNode changes the container "node" of the last replicated job.
func (b *Runtime) EditNode(edit func(*corev1.Container)) *Runtime {
	jobs := b.spec.Template.Spec.ReplicatedJobs
	containers := jobs[len(jobs)-1].Template.Spec.Template.Spec.Containers
	edit(&containers[0])
	return b
}

// Cluster returns the ClusterTrainingRuntime.
func (b *Runtime) Cluster() *trainer.ClusterTrainingRuntime {
	return &trainer.ClusterTrainingRuntime{ObjectMeta: *b.meta.DeepCopy(), Spec: *b.spec.DeepCopy()}
}

// Namespaced returns the TrainingRuntime.
func (b *Runtime) Namespaced(namespace string) *trainer.TrainingRuntime {
	meta := *b.meta.DeepCopy()
	meta.Namespace = namespace
	return &trainer.TrainingRuntime{ObjectMeta: meta, Spec: *b.spec.DeepCopy()}
}

func (b *Runtime) policy() *trainer.MLPolicy {
	if b.spec.MLPolicy == nil {
		b.spec.MLPolicy = &trainer.MLPolicy{}
	}
	return b.spec.MLPolicy
}
