// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/testkit/builders"
)

var _ = Describe("Creating a TrainJob", func() {
	DescribeTable("is refused with a message that says what to change",
		func(ctx SpecContext, runtime *builders.Runtime, job *builders.TrainJob, want ...string) {
			namespace := newNamespace(ctx)
			if runtime != nil {
				Expect(apiServer.Create(ctx, runtime.Namespaced(namespace))).To(Succeed())
			}
			obj := job.Obj()
			obj.Namespace = namespace
			err := apiServer.Create(ctx, obj)
			Expect(err).To(HaveOccurred())
			for _, fragment := range want {
				Expect(err.Error()).To(ContainSubstring(fragment))
			}
			Expect(apierrors.IsForbidden(err) || apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
		},
		Entry("a ClusterTrainingRuntime that does not exist", nil, builders.MakeTrainJob("", "a").Runtime("nowhere"),
			`admission webhook "validator.trainjob.trainer.kubeflow.org" denied the request: `,
			`ClusterTrainingRuntime.trainer.kubeflow.org "nowhere" not found: specified clusterTrainingRuntime must be created before the TrainJob is created`),
		Entry("a TrainingRuntime that does not exist", nil, builders.MakeTrainJob("", "a").NamespacedRuntime("nowhere"),
			`spec.runtimeRef`,
			`TrainingRuntime.trainer.kubeflow.org "nowhere" not found: specified trainingRuntime must be created before the TrainJob is created`),
		Entry("a kind that is no runtime", nil, builders.MakeTrainJob("", "a").RuntimeKind("argoproj.io", "Workflow"),
			"unsupported runtime: Workflow.argoproj.io"),
		Entry("no replicated job for the trainer",
			builders.MakeEmptyRuntime("runtime").Job("node", "", builders.MakeContainer("node")),
			builders.MakeTrainJob("", "a").NamespacedRuntime("runtime"),
			"none of its replicated jobs has the label trainer.kubeflow.org/trainjob-ancestor-step: trainer"),
		Entry("no node", builders.MakeRuntime("runtime"), builders.MakeTrainJob("", "a").NamespacedRuntime("runtime").NumNodes(0),
			"spec.trainer.numNodes: Invalid value: 0: must be greater than or equal to 1"),
		Entry("fewer nodes than none", builders.MakeRuntime("runtime"), builders.MakeTrainJob("", "a").NamespacedRuntime("runtime").NumNodes(-3),
			"spec.trainer.numNodes: Invalid value: -3: must be greater than or equal to 1"),
		Entry("MPI", builders.MakeRuntime("runtime").MPI(), builders.MakeTrainJob("", "a").NamespacedRuntime("runtime"),
			`spec.runtimeRef: Forbidden: runtime "runtime": mlPolicy mpi is not supported in this version`),
		Entry("Flux", builders.MakeRuntime("runtime").Flux(), builders.MakeTrainJob("", "a").NamespacedRuntime("runtime"),
			`mlPolicy flux is not supported in this version`),
		Entry("torchtune", builders.MakeRuntime("runtime").Torch(), builders.MakeTrainJob("", "a").NamespacedRuntime("runtime").Command("tune", "run"),
			`torchtune (command "tune run" with mlPolicy torch) is not supported in this version`),
		Entry("gang scheduling", builders.MakeRuntime("runtime").PodGroup(), builders.MakeTrainJob("", "a").NamespacedRuntime("runtime"),
			`podGroupPolicy is not supported in this version`),
		Entry("reserved variables of torch", builders.MakeRuntime("runtime").Torch(),
			builders.MakeTrainJob("", "a").NamespacedRuntime("runtime").Env("PET_NNODES", "9").Env("OK", "1").Env("PET_MASTER_ADDR", "x"),
			"spec.trainer.env", "must not have reserved envs, invalid envs configured: [PET_MASTER_ADDR PET_NNODES]"),
		Entry("reserved variables of XGBoost", builders.MakeRuntime("runtime").XGBoost(),
			builders.MakeTrainJob("", "a").NamespacedRuntime("runtime").Env("DMLC_TASK_ID", "9"),
			"spec.trainer.env[0]: Forbidden: DMLC_TASK_ID is reserved for the XGBoost runtime"),
		Entry("variables for a container that is not there",
			builders.MakeRuntime("runtime").Torch(trainer.EnvInjectionTarget{JobName: "node", ContainerNames: []string{"gone"}}),
			builders.MakeTrainJob("", "a").NamespacedRuntime("runtime"),
			`envInjection target podSet "node" container "gone" not found in runtime template`),
		Entry("a data set without a job that fetches it", builders.MakeRuntime("runtime"),
			builders.MakeTrainJob("", "a").NamespacedRuntime("runtime").Dataset(trainer.DatasetInitializer{StorageUri: new("hf://x/y")}),
			"must have dataset-initializer job when trainJob is configured with input datasetConfig"),
		Entry("a model without a job that fetches it", builders.MakeRuntime("runtime"),
			builders.MakeTrainJob("", "a").NamespacedRuntime("runtime").Model(trainer.ModelInitializer{StorageUri: new("hf://x/y")}),
			"must have model-initializer job when trainJob is configured with input modelConfig"),
		Entry("an initializer without its container",
			builders.MakeEmptyRuntime("runtime").Job("dataset-initializer", "", builders.MakeContainer("other")).Job("node", "trainer", builders.MakeContainer("node")),
			builders.MakeTrainJob("", "a").NamespacedRuntime("runtime").Dataset(trainer.DatasetInitializer{}),
			"must have container with name - dataset-initializer in the dataset-initializer job"),
		Entry("an initializer without its volume",
			builders.MakeEmptyRuntime("runtime").Job("dataset-initializer", "", builders.MakeContainer("dataset-initializer")).Job("node", "trainer", builders.MakeContainer("node")),
			builders.MakeTrainJob("", "a").NamespacedRuntime("runtime").Dataset(trainer.DatasetInitializer{}),
			"must have volumeMount with name - initializer in container dataset-initializer of the dataset-initializer job"),
		Entry("a patch of a job that is not there", builders.MakeRuntime("runtime"),
			builders.MakeTrainJob("", "a").NamespacedRuntime("runtime").PodPatch("example.com/me", "gone", trainer.PodSpecPatch{}),
			"spec.runtimePatches", "must not have replicated job that doesn't exist in the runtime job template"),
		Entry("a patch of a container that is not there", builders.MakeRuntime("runtime"),
			builders.MakeTrainJob("", "a").NamespacedRuntime("runtime").PodPatch("example.com/me", "node",
				trainer.PodSpecPatch{Containers: []trainer.ContainerPatch{{Name: "gone"}}}),
			"must not have container that doesn't exist in the runtime job node"),
		Entry("a patch of an init container that is not there", builders.MakeRuntime("runtime"),
			builders.MakeTrainJob("", "a").NamespacedRuntime("runtime").PodPatch("example.com/me", "node",
				trainer.PodSpecPatch{InitContainers: []trainer.ContainerPatch{{Name: "gone"}}}),
			"must not have initContainer that doesn't exist in the runtime job node"),
		Entry("variables in a patch", builders.MakeRuntime("runtime"),
			builders.MakeTrainJob("", "a").NamespacedRuntime("runtime").PodPatch("example.com/me", "node",
				trainer.PodSpecPatch{Containers: []trainer.ContainerPatch{{Name: "node", Env: []corev1.EnvVar{{Name: "A", Value: "b"}}}}}),
			"must not have envs for the dataset-initializer, model-initializer, node containers"),
		Entry("a manager without a domain", builders.MakeRuntime("runtime"),
			builders.MakeTrainJob("", "a").NamespacedRuntime("runtime").Patch("me", trainer.JobSetTemplatePatch{}),
			"spec.runtimePatches.manager", "domain-prefixed path"),
		Entry("a name that leaves no room for those of the pods", builders.MakeRuntime("runtime"),
			builders.MakeTrainJob("", strings.Repeat("a", 49)).NamespacedRuntime("runtime").NumNodes(11),
			"metadata.name", "must be no more than 47 characters with this runtime, so that the names of the 11 pods of \"node\" stay within 63"),
		Entry("a name that is no DNS label", builders.MakeRuntime("runtime"), builders.MakeTrainJob("", "9lives").NamespacedRuntime("runtime"),
			"metadata.name must match RFC 1035 DNS label format"),
	)

	DescribeTable("with a name of the greatest length is taken by JobSet too", func(ctx SpecContext, nodes int32, length int) {
		namespace := newNamespace(ctx)
		Expect(apiServer.Create(ctx, builders.MakeRuntime("runtime").Namespaced(namespace))).To(Succeed())
		longest := builders.MakeTrainJob(namespace, strings.Repeat("a", length)).NamespacedRuntime("runtime").NumNodes(nodes).Obj()
		tooLong := builders.MakeTrainJob(namespace, strings.Repeat("a", length+1)).NamespacedRuntime("runtime").NumNodes(nodes).Obj()
		Expect(apiServer.Create(ctx, tooLong)).To(MatchError(ContainSubstring("must be no more than")))
		Expect(apiServer.Create(ctx, longest)).To(Succeed())
		Eventually(func() error {
			return apiServer.Get(ctx, client.ObjectKeyFromObject(longest), &jobsetv1alpha2.JobSet{})
		}).Should(Succeed())

		By("and one more character is refused by JobSet itself")
		var taken jobsetv1alpha2.JobSet
		Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(longest), &taken)).To(Succeed())
		longer := &jobsetv1alpha2.JobSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: tooLong.Name}, Spec: taken.Spec}
		Expect(apiServer.Create(ctx, longer)).To(MatchError(ContainSubstring("JobSet name is too long")))
	},
		Entry("with one node", int32(1), 48),
		Entry("with ten nodes", int32(10), 48),
		Entry("with eleven nodes", int32(11), 47),
		Entry("with a thousand nodes", int32(1000), 46),
	)

	It("right after its runtime is taken, though the cache may not know the runtime yet", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		for range 20 {
			runtime := builders.MakeRuntime("").Namespaced(namespace)
			runtime.GenerateName = "runtime-"
			Expect(apiServer.Create(ctx, runtime)).To(Succeed())
			Expect(apiServer.Create(ctx, builders.MakeTrainJob(namespace, "on-"+runtime.Name).NamespacedRuntime(runtime.Name).Obj())).To(Succeed())
		}
	})

	It("on a deprecated runtime is taken with a warning", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(apiServer.Create(ctx, builders.MakeRuntime("old").Label(trainer.LabelSupport, trainer.SupportDeprecated).Cluster())).To(Succeed())
		warnings := &warnings{}
		config := rest.CopyConfig(cluster.Config)
		config.WarningHandlerWithContext = warnings
		warned, err := client.New(config, client.Options{Scheme: cluster.Scheme})
		Expect(err).NotTo(HaveOccurred())
		Expect(warned.Create(ctx, builders.MakeTrainJob(namespace, "a").Runtime("old").Obj())).To(Succeed())
		Expect(warnings.all()).To(ContainElement(HavePrefix(`Referenced ClusterTrainingRuntime "old" is deprecated`)))
	})
})

var _ = Describe("Updating a TrainJob", func() {
	pool := func(job *trainer.TrainJob, name string) {
		job.Spec.RuntimePatches = builders.MakeTrainJob("", "").PodPatch("kueue.x-k8s.io/manager", "node",
			trainer.PodSpecPatch{NodeSelector: map[string]string{"pool": name}}).Obj().Spec.RuntimePatches
	}
	update := func(ctx context.Context, job *trainer.TrainJob, edit func(*trainer.TrainJob)) error {
		for {
			var now trainer.TrainJob
			if err := apiServer.Get(ctx, client.ObjectKeyFromObject(job), &now); err != nil {
				return err
			}
			edit(&now)
			if err := apiServer.Update(ctx, &now); !apierrors.IsConflict(err) {
				return err
			}
		}
	}
	create := func(ctx context.Context, job *builders.TrainJob) *trainer.TrainJob {
		GinkgoHelper()
		obj := job.NamespacedRuntime("runtime").Obj()
		obj.Namespace = newNamespace(ctx)
		Expect(apiServer.Create(ctx, builders.MakeRuntime("runtime").Namespaced(obj.Namespace))).To(Succeed())
		Expect(apiServer.Create(ctx, obj)).To(Succeed())
		return obj
	}
	activePods := func(ctx context.Context, job *trainer.TrainJob, active int32) {
		GinkgoHelper()
		Eventually(func() error {
			var jobSet jobsetv1alpha2.JobSet
			if err := apiServer.Get(ctx, client.ObjectKeyFromObject(job), &jobSet); err != nil {
				return err
			}
			jobSet.Status.ReplicatedJobsStatus = []jobsetv1alpha2.ReplicatedJobStatus{{Name: "node", Active: active}}
			return apiServer.Status().Update(ctx, &jobSet)
		}).Should(Succeed())
	}
	// The webhook reads the JobSet from a cache, so the first answer may be one late.
	const onlySuspended = "RuntimePatches can only be modified when the TrainJob is suspended before or after the update"

	DescribeTable("may change patches and suspend in one go in every transition", func(ctx SpecContext, before, after bool) {
		job := create(ctx, builders.MakeTrainJob("", "moves").Suspend(before))
		edit := func(j *trainer.TrainJob) { pool(j, "b"); *j.Spec.Suspend = after }
		if !before && !after {
			Expect(update(ctx, job, edit)).To(MatchError(ContainSubstring(onlySuspended)))
			return
		}
		Expect(update(ctx, job, edit)).To(Succeed())
	},
		Entry("suspended and staying so", true, true),
		Entry("resumed by it", true, false),
		Entry("suspended by it", false, true),
		Entry("but not while it runs on", false, false),
	)

	It("may not change patches while pods are active, and may when they are gone", func(ctx SpecContext) {
		job := create(ctx, builders.MakeTrainJob("", "active"))
		activePods(ctx, job, 1)
		edit := func(j *trainer.TrainJob) { pool(j, "b"); *j.Spec.Suspend = true }
		Eventually(func() error {
			err := apiServer.Get(ctx, client.ObjectKeyFromObject(job), job)
			if err != nil {
				return err
			}
			edit(job)
			return apiServer.Update(ctx, job, client.DryRunAll)
		}).Should(MatchError(ContainSubstring("RuntimePatches cannot be modified when the JobSet's ReplicatedJob node is still active")))
		activePods(ctx, job, 0)
		Eventually(func() error { return update(ctx, job, edit) }).Should(Succeed())
	})

	It("stamps a patch when it is new or changed, and leaves the others", func(ctx SpecContext) {
		job := create(ctx, builders.MakeTrainJob("", "stamps").Suspend(true).
			PodPatch("example.com/one", "node", trainer.PodSpecPatch{NodeSelector: map[string]string{"a": "1"}}))
		first := job.Spec.RuntimePatches[0].Time
		Expect(first).NotTo(BeNil())
		old := metav1.NewTime(first.Add(-time.Hour))
		Expect(update(ctx, job, func(j *trainer.TrainJob) {
			j.Spec.RuntimePatches[0].Time = &old
			j.Spec.RuntimePatches = append(j.Spec.RuntimePatches, trainer.RuntimePatch{Manager: "example.com/two"})
		})).To(Succeed())
		Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(job), job)).To(Succeed())
		Expect(job.Spec.RuntimePatches[0].Time).To(HaveValue(Equal(*first)), "the patch is the same, so is its time")
		Expect(job.Spec.RuntimePatches[1].Time).NotTo(BeNil())
	})

	It("can be labelled, suspended and deleted when its runtime is gone", func(ctx SpecContext) {
		job := create(ctx, builders.MakeTrainJob("", "orphan"))
		Expect(apiServer.Delete(ctx, builders.MakeRuntime("runtime").Namespaced(job.Namespace))).To(Succeed())
		Expect(update(ctx, job, func(j *trainer.TrainJob) { *j.Spec.Suspend = true; j.Finalizers = []string{"example.com/hold"} })).To(Succeed())
		Expect(apiServer.Delete(ctx, job)).To(Succeed())
		Expect(update(ctx, job, func(j *trainer.TrainJob) { j.Finalizers = nil })).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(apiServer.Get(ctx, client.ObjectKeyFromObject(job), &trainer.TrainJob{}))
		}).Should(BeTrue())
	})

	It("checks new patches against the runtime it was built from", func(ctx SpecContext) {
		job := create(ctx, builders.MakeTrainJob("", "frozen").Suspend(true))
		Eventually(func() error {
			return apiServer.Get(ctx, client.ObjectKey{Namespace: job.Namespace, Name: "frozen-runtime-snapshot"}, &corev1.ConfigMap{})
		}).Should(Succeed())
		Expect(apiServer.Delete(ctx, builders.MakeRuntime("runtime").Namespaced(job.Namespace))).To(Succeed())
		Expect(update(ctx, job, func(j *trainer.TrainJob) { pool(j, "b") })).To(Succeed())
		Expect(update(ctx, job, func(j *trainer.TrainJob) {
			j.Spec.RuntimePatches[0].TrainingRuntimeSpec.Template.Spec.ReplicatedJobs[0].Name = "gone"
		})).To(MatchError(ContainSubstring("must not have replicated job that doesn't exist")))
	})
})

// warnings collects what the API server says beside its answer.
type warnings struct {
	mu   sync.Mutex
	seen []string
}

func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, text)
}

func (w *warnings) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}
