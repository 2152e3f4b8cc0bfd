// SPDX-License-Identifier: Apache-2.0

package trainjob_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	. "github.com/onsi/gomega/gstruct"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/testkit/builders"
)

var _ = Describe("A new TrainJob", func() {
	It("becomes a JobSet of its own name, owned by it, with the runtime's template", func(ctx SpecContext) {
		startController()
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime").TemplateLabel("from", "runtime"))
		job := createJob(ctx, builders.MakeTrainJob(namespace, "plain").NumNodes(3).
			Image("example.com/mine:2").Command("train").Args("--fast").Env("LR", "0.1"))

		jobSet := jobSetOf(ctx, job)
		Expect(jobSet.Labels).To(HaveKeyWithValue("from", "runtime"))
		Expect(jobSet.OwnerReferences).To(ConsistOf(metav1.OwnerReference{
			APIVersion: "trainer.kubeflow.org/v1alpha1", Kind: "TrainJob", Name: "plain", UID: job.UID,
			Controller: new(true), BlockOwnerDeletion: new(true),
		}))
		Expect(jobSet.Spec.Suspend).To(HaveValue(BeFalse()))
		Expect(jobSet.Spec.ReplicatedJobs).To(HaveLen(1))
		node := jobSet.Spec.ReplicatedJobs[0]
		Expect(node.Replicas).To(BeEquivalentTo(1))
		Expect(node.Template.Spec.Parallelism).To(HaveValue(BeEquivalentTo(3)))
		Expect(node.Template.Spec.Completions).To(HaveValue(BeEquivalentTo(3)))
		container := node.Template.Spec.Template.Spec.Containers[0]
		Expect(container).To(MatchFields(IgnoreExtras, Fields{
			"Name": Equal("node"), "Image": Equal("example.com/mine:2"),
			"Command": HaveExactElements("train"), "Args": HaveExactElements("--fast"),
			"Env": HaveExactElements(corev1.EnvVar{Name: "LR", Value: "0.1"}),
		}))
		Expect(managers(jobSet)).To(ContainElement("trainer"))
	})

	It("carries training code of nearly a MiB in one item", func(ctx SpecContext) {
		startController()
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime"))
		code := strings.Repeat("x", 1000*1024)
		job := createJob(ctx, builders.MakeTrainJob(namespace, "large").Command("bash", "-c", code))
		command := jobSetOf(ctx, job).Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0].Command
		Expect(command).To(HaveLen(3))
		Expect(command[2]).To(HaveLen(len(code)))
		Expect(strings.Compare(command[2], code)).To(BeZero(), "a megabyte that is not worth printing")
	})

	It("gets the variables of torch, also without spec.trainer", func(ctx SpecContext) {
		startController()
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime").Torch().NumNodes(2))
		job := createJob(ctx, builders.MakeTrainJob(namespace, "torch"))

		container := jobSetOf(ctx, job).Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0]
		Expect(container.Env).To(HaveExactElements(
			corev1.EnvVar{Name: "PET_NNODES", Value: "2"},
			corev1.EnvVar{Name: "PET_NPROC_PER_NODE", Value: "1"},
			corev1.EnvVar{Name: "PET_NODE_RANK", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
				FieldPath: "metadata.annotations['batch.kubernetes.io/job-completion-index']",
			}}},
			corev1.EnvVar{Name: "PET_MASTER_ADDR", Value: "torch-node-0-0.torch"},
			corev1.EnvVar{Name: "PET_MASTER_PORT", Value: "29500"},
		))
		Expect(container.Ports).To(HaveExactElements(corev1.ContainerPort{ContainerPort: 29500, Protocol: "TCP"}))
	})

	It("has the state Created and no condition, then Running when its pods are up", func(ctx SpecContext) {
		startController()
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime"))
		job := createJob(ctx, builders.MakeTrainJob(namespace, "states"))

		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateCreated))
		setJobSetStatus(ctx, job, counts(0, 1, 0))
		Eventually(func() []trainer.JobStatus {
			return get(ctx, namespace, "states", &trainer.TrainJob{}).Status.JobsStatus
		}).Should(HaveExactElements(trainer.JobStatus{
			Name: "node", Ready: ptr.To[int32](0), Succeeded: ptr.To[int32](0), Failed: ptr.To[int32](0),
			Active: ptr.To[int32](1), Suspended: ptr.To[int32](0),
		}))
		Expect(stateOf(ctx, job)()).To(Equal(trainer.TrainJobStateCreated), "a pod that waits for its image does not run")

		setJobSetStatus(ctx, job, counts(1, 1, 0))
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateRunning))
		setJobSetStatus(ctx, job, counts(0, 1, 0))
		Consistently(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateRunning), "one pod starts again, training goes on")
		Expect(get(ctx, namespace, "states", &trainer.TrainJob{}).Status.Conditions).To(BeEmpty())
	})

	It("keeps the runtime it was built from, whatever becomes of the runtime", func(ctx SpecContext) {
		startController()
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime").NumNodes(2))
		job := createJob(ctx, builders.MakeTrainJob(namespace, "frozen").Suspend(true))
		jobSetOf(ctx, job)

		snapshot := get(ctx, namespace, "frozen-runtime-snapshot", &corev1.ConfigMap{})
		Expect(snapshot.Data).To(HaveKeyWithValue("runtime", And(
			ContainSubstring("kind: TrainingRuntime"), ContainSubstring("name: runtime"), ContainSubstring("numNodes: 2"))))
		Expect(metav1.IsControlledBy(snapshot, job)).To(BeTrue())

		Expect(apiServer.Delete(ctx, builders.MakeRuntime("runtime").Namespaced(namespace))).To(Succeed())
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime").NumNodes(7))
		editJob(ctx, job, func(j *trainer.TrainJob) { j.Spec.Suspend = new(false) })
		Eventually(func() *bool { return jobSetOf(ctx, job).Spec.Suspend }).Should(HaveValue(BeFalse()))
		Expect(jobSetOf(ctx, job).Spec.ReplicatedJobs[0].Template.Spec.Completions).To(HaveValue(BeEquivalentTo(2)))
	})

	It("fills in initializers with their source, variables and credentials", func(ctx SpecContext) {
		startController()
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime").Initializers().Edit(func(s *jobsetv1alpha2.JobSetSpec) {
			for i := range s.ReplicatedJobs {
				s.ReplicatedJobs[i].Template.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "initializer"}}
			}
		}))
		job := createJob(ctx, builders.MakeTrainJob(namespace, "init").
			Dataset(trainer.DatasetInitializer{
				StorageUri: new("hf://data/set"), Env: []corev1.EnvVar{{Name: "SPLIT", Value: "train"}},
				SecretRef: &corev1.LocalObjectReference{Name: "hf-token"},
			}).
			Model(trainer.ModelInitializer{StorageUri: new("hf://some/model")}))

		jobs := jobSetOf(ctx, job).Spec.ReplicatedJobs
		Expect(jobs).To(HaveLen(3))
		dataset := jobs[0].Template.Spec.Template.Spec.Containers[0]
		Expect(dataset.Env).To(HaveExactElements(
			corev1.EnvVar{Name: "STORAGE_URI", Value: "hf://data/set"}, corev1.EnvVar{Name: "SPLIT", Value: "train"}))
		Expect(dataset.EnvFrom).To(HaveExactElements(corev1.EnvFromSource{
			SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "hf-token"}},
		}))
		Expect(jobs[1].Template.Spec.Template.Spec.Containers[0].Env).To(HaveExactElements(
			corev1.EnvVar{Name: "STORAGE_URI", Value: "hf://some/model"}))
	})

	It("is left alone when MultiKueue manages it", func(ctx SpecContext) {
		startController()
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime"))
		before := quiet()
		job := createJob(ctx, builders.MakeTrainJob(namespace, "elsewhere").ManagedBy(trainer.ManagedByMultiKueue))
		Eventually(reconciles).Should(BeNumerically(">", before))
		quiet()
		Expect(get(ctx, namespace, job.Name, &trainer.TrainJob{}).Status).To(BeZero())
		Expect(apiServer.Get(ctx, key(job), &jobsetv1alpha2.JobSet{})).To(MatchError(ContainSubstring("not found")))
		Expect(eventsOf(ctx, job)()).To(BeEmpty())
	})
})
