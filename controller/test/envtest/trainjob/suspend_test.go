// SPDX-License-Identifier: Apache-2.0

package trainjob_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/testkit/builders"
	"github.com/milepost-dev/milepost/controller/internal/trainjob"
)

var _ = Describe("Suspending", func() {
	pool := func(name string) func(*trainer.TrainJob) {
		return func(j *trainer.TrainJob) {
			patched := builders.MakeTrainJob("", "").PodPatch("kueue.x-k8s.io/manager", "node",
				trainer.PodSpecPatch{NodeSelector: map[string]string{"pool": name}}).Obj()
			j.Spec.RuntimePatches = patched.Spec.RuntimePatches
		}
	}
	suspendOf := func(ctx SpecContext, job *trainer.TrainJob) func() *bool {
		return func() *bool { return jobSetOf(ctx, job).Spec.Suspend }
	}
	poolOf := func(ctx SpecContext, job *trainer.TrainJob) func() string {
		return func() string {
			return jobSetOf(ctx, job).Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.NodeSelector["pool"]
		}
	}

	It("goes through all four transitions, with patches in the same update", func(ctx SpecContext) {
		startController()
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime"))
		job := createJob(ctx, builders.MakeTrainJob(namespace, "moves").Suspend(true))

		By("created suspended")
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateSuspended))
		Expect(conditionOf(ctx, job, trainer.TrainJobSuspended)()).To(Equal("True Suspended: TrainJob is suspended"))
		Expect(suspendOf(ctx, job)()).To(HaveValue(BeTrue()))

		By("patched while suspended")
		editJob(ctx, job, pool("a"))
		Eventually(poolOf(ctx, job)).Should(Equal("a"))
		Expect(suspendOf(ctx, job)()).To(HaveValue(BeTrue()))

		By("resumed and patched at once")
		editJob(ctx, job, func(j *trainer.TrainJob) { pool("b")(j); *j.Spec.Suspend = false })
		Eventually(suspendOf(ctx, job)).Should(HaveValue(BeFalse()))
		Expect(poolOf(ctx, job)()).To(Equal("b"))
		Eventually(conditionOf(ctx, job, trainer.TrainJobSuspended)).Should(Equal("False Resumed: TrainJob is resumed"))
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateCreated), "the state must not stay Suspended")
		setJobSetStatus(ctx, job, counts(1, 1, 0))
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateRunning))

		By("suspended and patched at once")
		editJob(ctx, job, func(j *trainer.TrainJob) { pool("c")(j); *j.Spec.Suspend = true })
		Eventually(suspendOf(ctx, job)).Should(HaveValue(BeTrue()))
		Expect(poolOf(ctx, job)()).To(Equal("c"))
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateSuspended))
		Expect(conditionOf(ctx, job, trainer.TrainJobSuspended)()).To(Equal("True Suspended: TrainJob is suspended"))

		By("resumed without a change")
		editJob(ctx, job, func(j *trainer.TrainJob) { *j.Spec.Suspend = false })
		Eventually(suspendOf(ctx, job)).Should(HaveValue(BeFalse()))
		setJobSetStatus(ctx, job, counts(1, 1, 0))
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateRunning))
	})

	It("costs nothing while nothing changes, even across a restart", func(ctx SpecContext) {
		stop := startController()
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime"))
		job := createJob(ctx, builders.MakeTrainJob(namespace, "queued").Suspend(true))
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateSuspended))
		jobSetOf(ctx, job)
		quiet()
		stop()
		// Without its snapshot the JobSet could not be built again.
		Expect(apiServer.Delete(ctx, get(ctx, namespace, "queued-runtime-snapshot", &corev1.ConfigMap{}))).To(Succeed())
		startController()
		before := quiet()
		setJobSetStatus(ctx, job, counts(0, 0, 0))
		Eventually(reconciles).Should(BeNumerically(">", before))
		quiet()
		err := apiServer.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "queued-runtime-snapshot"}, &corev1.ConfigMap{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "it was built again")
	})

	It("leaves a running JobSet alone", func(ctx SpecContext) {
		startController()
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime"))
		job := createJob(ctx, builders.MakeTrainJob(namespace, "runs"))
		before := jobSetOf(ctx, job)
		editJob(ctx, job, pool("late"))
		quiet()
		Expect(jobSetOf(ctx, job).ResourceVersion).To(Equal(before.ResourceVersion))
	})

	It("still works when the controller would build other pods today", func(ctx SpecContext) {
		stop := startController()
		createSecret(ctx, "ca")
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime"))
		job := createJob(ctx, builders.MakeTrainJob(namespace, "upgrade"))
		jobSetOf(ctx, job)
		stop()

		// With the gate on there would be variables and a volume, which JobSet refuses to add.
		startController(gateOn, func(*trainjob.Config) {})
		editJob(ctx, job, func(j *trainer.TrainJob) { j.Spec.Suspend = new(true) })
		Eventually(suspendOf(ctx, job)).Should(HaveValue(BeTrue()))
		Eventually(eventsOf(ctx, job)).Should(ContainElement(HavePrefix("Warning TrainJobTemplateKept: ")))
		editJob(ctx, job, func(j *trainer.TrainJob) { pool("a")(j); *j.Spec.Suspend = false })
		Eventually(suspendOf(ctx, job)).Should(HaveValue(BeFalse()))
		Expect(poolOf(ctx, job)()).To(Equal("a"))
		Expect(jobSetOf(ctx, job).Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Volumes).To(BeEmpty())
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateCreated))
	})
})
