// SPDX-License-Identifier: Apache-2.0

package trainjob_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/testkit/builders"
	"github.com/milepost-dev/milepost/controller/internal/testkit/envtest"
	"github.com/milepost-dev/milepost/controller/internal/trainjob"
)

var _ = Describe("A TrainJob that cannot be built", func() {
	It("is blocked and says why when the API server refuses its JobSet, until it does not", func(ctx SpecContext) {
		startController()
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime"))
		allow := refuseJobSets(ctx, namespace, admissionregistrationv1.Create)
		job := createJob(ctx, builders.MakeTrainJob(namespace, "refused"))
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateBlocked))
		Eventually(eventsOf(ctx, job)).Should(ContainElement(And(
			HavePrefix("Warning TrainJobResourcesCreationFailed: TrainJob resources reconciliation failed: applying the JobSet: "),
			ContainSubstring("no JobSets today"))))
		Expect(get(ctx, namespace, "refused", &trainer.TrainJob{}).Status.Conditions).To(BeEmpty())

		allow()
		jobSetOf(ctx, job)
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateCreated))
	})

	It("is blocked while its runtime does not exist", func(ctx SpecContext) {
		startController()
		namespace := newNamespace(ctx)
		job := createJob(ctx, builders.MakeTrainJob(namespace, "early"))
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateBlocked))
		Eventually(eventsOf(ctx, job)).Should(ContainElement(
			ContainSubstring(`TrainingRuntime.trainer.kubeflow.org "runtime" not found`)))
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime"))
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateCreated))
	})

	DescribeTable("fails for good, with the reason", func(ctx SpecContext, runtime *builders.Runtime, edit func(*trainer.TrainJob), want string) {
		startController()
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, runtime)
		job := builders.MakeTrainJob(namespace, "hopeless").NamespacedRuntime("runtime").Obj()
		edit(job)
		Expect(apiServer.Create(ctx, job)).To(Succeed())
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateFailed))
		Expect(conditionOf(ctx, job, trainer.TrainJobFailed)()).To(Equal("True TrainingRuntimeNotSupported: " + want))
		Eventually(eventsOf(ctx, job)).Should(ContainElement("Warning TrainingRuntimeNotSupported: " + want))
		Expect(apierrors.IsNotFound(apiServer.Get(ctx, key(job), &jobsetv1alpha2.JobSet{}))).To(BeTrue())
		err := apiServer.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "hopeless-runtime-snapshot"}, &corev1.ConfigMap{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue())
	},
		Entry("when the runtime has no replicated job for the trainer",
			builders.MakeEmptyRuntime("runtime").Job("node", "", builders.MakeContainer("node")), func(*trainer.TrainJob) {},
			`TrainingRuntime "runtime" cannot be used: none of its replicated jobs has the label trainer.kubeflow.org/trainjob-ancestor-step: trainer`),
		Entry("when the runtime has no container node",
			builders.MakeEmptyRuntime("runtime").Job("node", "trainer", builders.MakeContainer("main")), func(*trainer.TrainJob) {},
			`TrainingRuntime "runtime" cannot be used: its replicated job "node" has no container "node"`),
		Entry("when the reference is to another kind",
			builders.MakeRuntime("runtime"), func(j *trainer.TrainJob) { *j.Spec.RuntimeRef.Kind = "Workflow" },
			"unsupported runtime: Workflow.trainer.kubeflow.org"),
	)

	DescribeTable("is blocked, and never built wrong, when the runtime needs what this version does not do",
		func(ctx SpecContext, runtime *builders.Runtime, want string) {
			startController()
			namespace := newNamespace(ctx)
			createRuntime(ctx, namespace, runtime)
			job := createJob(ctx, builders.MakeTrainJob(namespace, "other").Command("tune", "run"))
			Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateBlocked))
			Eventually(eventsOf(ctx, job)).Should(ContainElement(ContainSubstring(want + " is not supported in this version")))
			Expect(apierrors.IsNotFound(apiServer.Get(ctx, key(job), &jobsetv1alpha2.JobSet{}))).To(BeTrue())
		},
		Entry("MPI", builders.MakeRuntime("runtime").MPI(), "mlPolicy mpi"),
		Entry("Flux", builders.MakeRuntime("runtime").Flux(), "mlPolicy flux"),
		Entry("torchtune", builders.MakeRuntime("runtime").Torch(), `torchtune (command "tune run" with mlPolicy torch)`),
		Entry("gang scheduling", builders.MakeRuntime("runtime").PodGroup(), "podGroupPolicy"),
	)

	It("does not take over a JobSet of somebody else", func(ctx SpecContext) {
		startController()
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime"))
		foreign := builders.MakeJobSet(namespace, "taken").Obj()
		Expect(apiServer.Create(ctx, foreign)).To(Succeed())
		job := createJob(ctx, builders.MakeTrainJob(namespace, "taken"))
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateBlocked))
		Eventually(eventsOf(ctx, job)).Should(ContainElement(
			ContainSubstring(`JobSet "taken": it exists and does not belong to the TrainJob`)))
		Expect(jobSetOf(ctx, job).OwnerReferences).To(BeEmpty())
	})
})

var _ = Describe("The start", func() {
	It("finds every API it needs", func(ctx SpecContext) {
		apis, err := discovery.NewDiscoveryClientForConfig(cluster.Config)
		Expect(err).NotTo(HaveOccurred())
		Expect(trainjob.CheckAPIs(ctx, apis)).To(Succeed())
	})

	It("is refused in one line where JobSet is not installed", func(ctx SpecContext) {
		bare, err := envtest.Start(ctx, envtest.Options{WithoutJobSet: true})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(bare.Stop()).To(Succeed()) })
		apis, err := discovery.NewDiscoveryClientForConfig(bare.Config)
		Expect(err).NotTo(HaveOccurred())
		Expect(trainjob.CheckAPIs(ctx, apis)).To(MatchError(And(
			HavePrefix("the API server has no jobsets in jobset.x-k8s.io/v1alpha2: JobSet is not installed; install the chart with jobset.install=true"),
			Not(ContainSubstring("\n")))))
	})
})
