// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/testkit/builders"
)

var _ = Describe("Creating a runtime", func() {
	twoReplicas := func(s *jobsetv1alpha2.JobSetSpec) { s.ReplicatedJobs[0].Replicas = 2 }

	DescribeTable("is judged by the jobs that a TrainJob fills in", func(ctx SpecContext, runtime *builders.Runtime, want string) {
		namespaced := runtime.Namespaced(newNamespace(ctx))
		clusterWide := runtime.Cluster()
		clusterWide.Name = ""
		clusterWide.GenerateName = "judged-"
		for _, object := range []client.Object{namespaced, clusterWide} {
			err := apiServer.Create(ctx, object)
			if want == "" {
				Expect(err).NotTo(HaveOccurred())
				continue
			}
			Expect(err).To(MatchError(ContainSubstring(want)))
		}
	},
		Entry("and taken when they are right", builders.MakeRuntime("runtime").Initializers(), ""),
		Entry("and taken when it has none: TrainJobs are refused", builders.MakeEmptyRuntime("runtime").Job("x", "", builders.MakeContainer("x")), ""),
		Entry("and refused with two replicas", builders.MakeRuntime("runtime").Edit(twoReplicas),
			"spec.template.spec.replicatedJobs[0].replicas: Invalid value: 2: always must be 1"),
		Entry("and taken with two replicas of another job",
			builders.MakeEmptyRuntime("runtime").Job("x", "", builders.MakeContainer("x")).Edit(twoReplicas), ""),
		Entry("and refused without the container that trains",
			builders.MakeEmptyRuntime("runtime").Job("node", "trainer", builders.MakeContainer("main")),
			"spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers"),
		Entry("and refused without the container that fetches the model",
			builders.MakeEmptyRuntime("runtime").Job("init", "model-initializer", builders.MakeContainer("node")),
			"must contain the required container for the ancestor: model-initializer"),
		Entry("and taken as it is when it asks not to be judged",
			builders.MakeEmptyRuntime("runtime").Job("node", "trainer", builders.MakeContainer("main")).
				Label(trainer.LabelWebhookValidation, trainer.WebhookValidationDisabled), ""),
	)

	It("that this version cannot run is taken with a warning", func(ctx SpecContext) {
		warnings := &warnings{}
		config := rest.CopyConfig(cluster.Config)
		config.WarningHandlerWithContext = warnings
		warned, err := client.New(config, client.Options{Scheme: cluster.Scheme})
		Expect(err).NotTo(HaveOccurred())
		Expect(warned.Create(ctx, builders.MakeRuntime("deepspeed").MPI().Namespaced(newNamespace(ctx)))).To(Succeed())
		Expect(warnings.all()).To(HaveExactElements(`mlPolicy mpi is not supported in this version: TrainJobs that name runtime "deepspeed" are refused`))
	})
})
