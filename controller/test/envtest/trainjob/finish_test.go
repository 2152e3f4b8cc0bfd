// SPDX-License-Identifier: Apache-2.0

package trainjob_test

import (
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/testkit/builders"
)

var _ = Describe("The end of a TrainJob", func() {
	type ending struct {
		condition             jobsetv1alpha2.JobSetConditionType
		reason, message, want string
		state                 trainer.TrainJobState
	}
	DescribeTable("is what the JobSet says, and stays when the JobSet is removed by its time to live",
		func(ctx SpecContext, e ending) {
			stop := startController()
			namespace := newNamespace(ctx)
			createRuntime(ctx, namespace, builders.MakeRuntime("runtime"))
			job := createJob(ctx, builders.MakeTrainJob(namespace, "ends"))
			jobSetOf(ctx, job)
			setJobSetStatus(ctx, job, counts(1, 1, 0))
			Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateRunning))

			setJobSetStatus(ctx, job, end(e.condition, e.reason, e.message))
			Eventually(stateOf(ctx, job)).Should(Equal(e.state))
			Expect(conditionOf(ctx, job, string(e.state))()).To(Equal(e.want))

			Expect(apiServer.Delete(ctx, jobSetOf(ctx, job))).To(Succeed())
			quiet()
			stop()
			startController()
			quiet()
			err := apiServer.Get(ctx, key(job), &jobsetv1alpha2.JobSet{})
			Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the JobSet was made again")
			Expect(stateOf(ctx, job)()).To(Equal(e.state))
		},
		Entry("complete", ending{
			jobsetv1alpha2.JobSetCompleted, "AllJobsCompleted", "jobset completed successfully",
			"True AllJobsCompleted: jobset completed successfully", trainer.TrainJobStateComplete,
		}),
		Entry("failed", ending{
			jobsetv1alpha2.JobSetFailed, "ReachedMaxRestarts", "jobset failed due to reaching max number of restarts",
			"True ReachedMaxRestarts: jobset failed due to reaching max number of restarts", trainer.TrainJobStateFailed,
		}),
	)

	It("shows although reports arrive all the time, and keeps the last of them", func(ctx SpecContext) {
		startController()
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime"))
		job := createJob(ctx, builders.MakeTrainJob(namespace, "busy"))
		jobSetOf(ctx, job)
		stop := make(chan struct{})
		var reporting sync.WaitGroup
		reporting.Go(func() {
			defer GinkgoRecover()
			for percent := int64(0); ; percent = (percent + 1) % 100 {
				select {
				case <-stop:
					Expect(report(ctx, job, 100)).To(Succeed())
					return
				case <-time.After(20 * time.Millisecond):
					Expect(report(ctx, job, percent)).To(Succeed())
				}
			}
		})
		setJobSetStatus(ctx, job, end(jobsetv1alpha2.JobSetCompleted, "AllJobsCompleted", "done"))
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateComplete))
		close(stop)
		reporting.Wait()
		quiet()
		now := get(ctx, namespace, "busy", &trainer.TrainJob{})
		Expect(now.Status.TrainerStatus.ProgressPercentage).To(HaveValue(BeEquivalentTo(100)))
		Expect(now.Status.State).To(Equal(trainer.TrainJobStateComplete))
	})

	It("does not show on a TrainJob that has just been made anew under the same name", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		first := createJob(ctx, builders.MakeTrainJob(namespace, "anew"))
		Expect(apiServer.Delete(ctx, first)).To(Succeed())
		second := createJob(ctx, builders.MakeTrainJob(namespace, "anew"))
		late := []byte(`{"metadata":{"resourceVersion":"` + first.ResourceVersion + `"},"status":{"state":"Complete"}}`)
		err := apiServer.Status().Patch(ctx, second.DeepCopy(), client.RawPatch(types.MergePatchType, late))
		Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
	})

	It("makes a JobSet again that was deleted before", func(ctx SpecContext) {
		startController()
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime"))
		job := createJob(ctx, builders.MakeTrainJob(namespace, "again"))
		first := jobSetOf(ctx, job)
		Expect(apiServer.Delete(ctx, first)).To(Succeed())
		Eventually(func() bool { return jobSetOf(ctx, job).UID != first.UID }).Should(BeTrue())
	})
})

var _ = Describe("A deadline", func() {
	It("ends an overdue TrainJob and deletes its JobSet for good", func(ctx SpecContext) {
		stop := startController()
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime"))
		job := createJob(ctx, builders.MakeTrainJob(namespace, "late").Deadline(2))
		jobSetOf(ctx, job)

		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateFailed))
		Expect(conditionOf(ctx, job, trainer.TrainJobFailed)()).To(Equal("True DeadlineExceeded: TrainJob exceeded its active deadline"))
		Eventually(func() bool {
			return apierrors.IsNotFound(apiServer.Get(ctx, key(job), &jobsetv1alpha2.JobSet{}))
		}).Should(BeTrue())
		Eventually(eventsOf(ctx, job)).Should(ContainElement("Warning DeadlineExceeded: TrainJob exceeded its active deadline"))
		stop()
		startController()
		quiet()
		Expect(apierrors.IsNotFound(apiServer.Get(ctx, key(job), &jobsetv1alpha2.JobSet{}))).To(BeTrue())
	})

	It("is enforced again and again when the API server refuses to delete the JobSet", func(ctx SpecContext) {
		startController()
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime"))
		allow := refuseJobSets(ctx, namespace, admissionregistrationv1.Delete) // in force before the deadline runs
		job := createJob(ctx, builders.MakeTrainJob(namespace, "stuck").Deadline(4))
		jobSetOf(ctx, job)
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateFailed))
		Eventually(eventsOf(ctx, job)).Should(ContainElement(ContainSubstring("deleting the JobSet of an overdue TrainJob")))
		jobSetOf(ctx, job)
		allow()
		Eventually(func() bool {
			return apierrors.IsNotFound(apiServer.Get(ctx, key(job), &jobsetv1alpha2.JobSet{}))
		}).Should(BeTrue())
	})

	It("is enforced by a controller that starts after the JobSet should have been deleted", func(ctx SpecContext) {
		stop := startController()
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime"))
		job := createJob(ctx, builders.MakeTrainJob(namespace, "crash").Deadline(600))
		held := jobSetOf(ctx, job)
		// As if the first deletion had never arrived: the status says it ended, the JobSet is there.
		stop()
		Expect(apiServer.Get(ctx, key(job), job)).To(Succeed())
		job.Status = builders.MakeTrainJob("", "").
			Condition(trainer.TrainJobFailed, "True", trainer.TrainJobDeadlineExceededReason, held.CreationTimestamp.Time).
			State(trainer.TrainJobStateFailed).Obj().Status
		Expect(apiServer.Status().Update(ctx, job)).To(Succeed())
		startController()
		Eventually(func() bool {
			return apierrors.IsNotFound(apiServer.Get(ctx, key(job), &jobsetv1alpha2.JobSet{}))
		}).Should(BeTrue())
	})

	It("does not run while suspended, and starts anew on resume", func(ctx SpecContext) {
		startController()
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime"))
		job := createJob(ctx, builders.MakeTrainJob(namespace, "paused").Deadline(3).Suspend(true))
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateSuspended))
		Consistently(stateOf(ctx, job), "4s").Should(Equal(trainer.TrainJobStateSuspended))

		editJob(ctx, job, func(j *trainer.TrainJob) { *j.Spec.Suspend = false })
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateCreated))
		Consistently(stateOf(ctx, job), "1s").Should(Equal(trainer.TrainJobStateCreated), "the time before the resume counts")
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateFailed))
	})
})

var _ = Describe("A TrainJob made again under the same name", func() {
	It("takes nothing over from the JobSet and the ConfigMaps of the one before", func(ctx SpecContext) {
		startController(gateOn)
		createSecret(ctx, "ca of today")
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime"))
		first := createJob(ctx, builders.MakeTrainJob(namespace, "twin"))
		old := jobSetOf(ctx, first)
		setJobSetStatus(ctx, first, end(jobsetv1alpha2.JobSetCompleted, "AllJobsCompleted", "jobset completed successfully"))
		Eventually(stateOf(ctx, first)).Should(Equal(trainer.TrainJobStateComplete))
		Expect(apiServer.Delete(ctx, first)).To(Succeed())

		second := createJob(ctx, builders.MakeTrainJob(namespace, "twin"))
		Eventually(stateOf(ctx, second)).Should(Equal(trainer.TrainJobStateCreated))
		Consistently(stateOf(ctx, second)).Should(Equal(trainer.TrainJobStateCreated))
		Expect(eventsOf(ctx, second)()).To(BeEmpty(), "waiting for the garbage collector is no fault")

		// What the garbage collector would do:
		Expect(apiServer.Delete(ctx, old)).To(Succeed())
		for _, name := range []string{"twin-runtime-snapshot", "twin-tls-config"} {
			Expect(apiServer.Delete(ctx, get(ctx, namespace, name, &corev1.ConfigMap{}))).To(Succeed())
		}
		Eventually(func() string { return string(jobSetOf(ctx, second).OwnerReferences[0].UID) }).Should(Equal(string(second.UID)))
	})
})
