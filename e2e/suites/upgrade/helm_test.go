// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package upgrade

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/e2e/testbed"
)

const namespace = "upgrade"

var _ = DescribeTableSubtree("an installation", Ordered,
	func(helm testbed.Helm) {
		var before []string

		BeforeAll(func(ctx SpecContext) {
			before = objects(ctx)
			Expect(bed.Install(ctx, helm)).To(Succeed())
			Expect(bed.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
		}, NodeTimeout(5*time.Minute))

		It("runs a TrainJob that reports", func(ctx SpecContext) {
			job := trainJob("first")
			Expect(bed.Client.Create(ctx, job)).To(Succeed())
			Expect(finalProgress(ctx, job)).To(HaveValue(BeEquivalentTo(100)))
		}, SpecTimeout(3*time.Minute))

		It("keeps its certificate, its TrainJobs and their reports through an upgrade", func(ctx SpecContext) {
			secret := certificate(ctx)
			Expect(secret.Data).To(HaveKey("ca.crt"))

			Expect(bed.Install(ctx, helm, "--set", "manager.config.statusServer.qps=40")).To(Succeed())

			Expect(certificate(ctx).Data).To(Equal(secret.Data), "the Secret as it was before")
			Expect(progress(ctx, trainJob("first"))).To(HaveValue(BeEquivalentTo(100)))
			job := trainJob("second")
			Expect(bed.Client.Create(ctx, job)).To(Succeed())
			Expect(finalProgress(ctx, job)).To(HaveValue(BeEquivalentTo(100)))
		}, SpecTimeout(5*time.Minute))

		It("leaves nothing behind when it is removed", func(ctx SpecContext) {
			Expect(bed.DeleteNamespace(ctx, namespace)).To(Succeed())
			Expect(bed.Uninstall(ctx, helm)).To(Succeed())
			Eventually(func() []string { return objects(ctx) }).WithContext(ctx).Should(Equal(before))
		}, SpecTimeout(5*time.Minute))
	},
	Entry("with Helm 3", testbed.Helm3),
	Entry("with Helm 4", testbed.Helm4),
)

// objects lists by name all that an installation could leave behind in the cluster.
func objects(ctx SpecContext) []string {
	GinkgoHelper()
	kinds := "customresourcedefinitions,clusterroles,clusterrolebindings,validatingwebhookconfigurations," +
		"mutatingwebhookconfigurations,namespaces"
	out, err := bed.Kubectl(ctx, "get", kinds, "-o", "name")
	Expect(err).NotTo(HaveOccurred())
	var names []string
	for name := range strings.FieldsSeq(out) {
		names = append(names, name)
	}
	return names
}

func certificate(ctx SpecContext) *corev1.Secret {
	GinkgoHelper()
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: testbed.Namespace, Name: "kubeflow-trainer-webhook-cert"}
	Expect(bed.Client.Get(ctx, key, secret)).To(Succeed())
	return secret
}

func trainJob(name string) *trainer.TrainJob {
	image := testbed.DefaultImages().Digits
	return &trainer.TrainJob{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: trainer.TrainJobSpec{
			RuntimeRef: trainer.RuntimeRef{Name: "torch-distributed"},
			Trainer:    &trainer.Trainer{Image: &image, Command: []string{"/digits", "--epochs=2"}},
		},
	}
}

func progress(ctx SpecContext, job *trainer.TrainJob) *int32 {
	GinkgoHelper()
	current := &trainer.TrainJob{}
	Expect(bed.Client.Get(ctx, client.ObjectKeyFromObject(job), current)).To(Succeed())
	if current.Status.State != trainer.TrainJobStateComplete || current.Status.TrainerStatus == nil {
		return nil
	}
	return current.Status.TrainerStatus.ProgressPercentage
}

// finalProgress waits until the TrainJob is Complete and returns the progress it ended with.
func finalProgress(ctx SpecContext, job *trainer.TrainJob) *int32 {
	GinkgoHelper()
	var last *int32
	Eventually(func() *int32 {
		last = progress(ctx, job)
		return last
	}).WithContext(ctx).ShouldNot(BeNil(), "TrainJob %s is Complete with a report", job.Name)
	return last
}
