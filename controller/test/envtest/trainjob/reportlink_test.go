// SPDX-License-Identifier: Apache-2.0

package trainjob_test

import (
	"context"
	"fmt"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/testkit/builders"
)

// createSecret puts CA certificates where the certificate flow would, until the
// test ends.
func createSecret(ctx context.Context, bundle string) {
	GinkgoHelper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: certSecret.Namespace, Name: certSecret.Name},
		Data:       map[string][]byte{"ca.crt": []byte(bundle)},
	}
	Expect(apiServer.Create(ctx, secret)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		Expect(client.IgnoreNotFound(apiServer.Delete(ctx, secret))).To(Succeed())
	})
}

// report writes status.trainerStatus as the report flow does.
func report(ctx context.Context, job *trainer.TrainJob, percent int64) error {
	applied := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": trainer.GroupVersion.String(),
		"kind":       trainer.TrainJobKind,
		"metadata":   map[string]any{"namespace": job.Namespace, "name": job.Name},
		"status": map[string]any{"trainerStatus": map[string]any{
			"progressPercentage": percent,
			"lastUpdatedTime":    "2026-12-01T00:00:00Z",
		}},
	}}
	return apiServer.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(applied),
		client.FieldOwner("trainer-status"), client.ForceOwnership)
}

var _ = Describe("The link to the report endpoint", func() {
	caOf := func(ctx SpecContext, job *trainer.TrainJob) func() string {
		return func() string {
			var found corev1.ConfigMap
			if err := apiServer.Get(ctx, client.ObjectKey{Namespace: job.Namespace, Name: job.Name + "-tls-config"}, &found); err != nil {
				return err.Error()
			}
			return found.Data["ca.crt"]
		}
	}

	It("is in every training container, and in no other", func(ctx SpecContext) {
		startController(gateOn)
		createSecret(ctx, "old and new")
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeEmptyRuntime("runtime").
			Job("node", "trainer", builders.MakeContainer("node"), builders.MakeContainer("sidecar")).
			Job("helper", "", builders.MakeContainer("node")).
			Edit(func(s *jobsetv1alpha2.JobSetSpec) {
				s.ReplicatedJobs[0].Template.Spec.Template.Spec.InitContainers = []corev1.Container{builders.MakeContainer("setup")}
			}))
		job := createJob(ctx, builders.MakeTrainJob(namespace, "linked").Env("KUBEFLOW_TRAINER_SERVER_TOKEN", "/mine"))

		pod := jobSetOf(ctx, job).Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
		path := "trainer.kubeflow.org/v1alpha1/namespaces/" + namespace + "/trainjobs/linked/status"
		url := corev1.EnvVar{
			Name:  "KUBEFLOW_TRAINER_SERVER_URL",
			Value: "https://kubeflow-trainer-controller-manager.kubeflow-system.svc:10443/apis/" + path,
		}
		ca := corev1.EnvVar{Name: "KUBEFLOW_TRAINER_SERVER_CA_CERT", Value: "/var/run/secrets/kubeflow/trainer/ca.crt"}
		mount := corev1.VolumeMount{Name: "kubeflow-trainer-token", ReadOnly: true, MountPath: "/var/run/secrets/kubeflow/trainer"}
		Expect(pod.Containers[0].Env).To(HaveExactElements(url, ca, corev1.EnvVar{Name: "KUBEFLOW_TRAINER_SERVER_TOKEN", Value: "/mine"}))
		Expect(pod.Containers[1].Env).To(HaveExactElements(url, ca,
			corev1.EnvVar{Name: "KUBEFLOW_TRAINER_SERVER_TOKEN", Value: "/var/run/secrets/kubeflow/trainer/token"}))
		for _, c := range pod.Containers {
			Expect(c.VolumeMounts).To(HaveExactElements(mount))
		}
		Expect(pod.InitContainers[0].Env).To(BeEmpty())
		Expect(pod.InitContainers[0].VolumeMounts).To(BeEmpty())
		Expect(pod.Volumes).To(HaveExactElements(corev1.Volume{
			Name: "kubeflow-trainer-token",
			VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: path, ExpirationSeconds: ptr.To[int64](3600), Path: "token"}},
				{ConfigMap: &corev1.ConfigMapProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: "linked-tls-config"},
					Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
				}},
			}}},
		}))
		helper := jobSetOf(ctx, job).Spec.ReplicatedJobs[1].Template.Spec.Template.Spec
		Expect(helper.Containers[0].Env).To(BeEmpty())
		Expect(helper.Volumes).To(BeEmpty())

		Expect(caOf(ctx, job)()).To(Equal("old and new"))
		Expect(metav1.IsControlledBy(get(ctx, namespace, "linked-tls-config", &corev1.ConfigMap{}), job)).To(BeTrue())
	})

	It("is not there while the gate is off", func(ctx SpecContext) {
		startController()
		createSecret(ctx, "ca")
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime"))
		job := createJob(ctx, builders.MakeTrainJob(namespace, "dark"))
		pod := jobSetOf(ctx, job).Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
		Expect(pod.Containers[0].Env).To(BeEmpty())
		Expect(pod.Volumes).To(BeEmpty())
		quiet()
		Expect(caOf(ctx, job)()).To(ContainSubstring("not found"))
	})

	It("follows the Secret at once, for every TrainJob that has not ended", func(ctx SpecContext) {
		startController(gateOn)
		createSecret(ctx, "old")
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime"))
		var running []*trainer.TrainJob
		for i := range 5 {
			running = append(running, createJob(ctx, builders.MakeTrainJob(namespace, fmt.Sprintf("job-%d", i))))
		}
		ended := createJob(ctx, builders.MakeTrainJob(namespace, "ended"))
		jobSetOf(ctx, ended)
		setJobSetStatus(ctx, ended, end(jobsetv1alpha2.JobSetCompleted, "AllJobsCompleted", "done"))
		Eventually(stateOf(ctx, ended)).Should(Equal(trainer.TrainJobStateComplete))
		for _, job := range running {
			Eventually(caOf(ctx, job)).Should(Equal("old"))
		}

		secret := get(ctx, certSecret.Namespace, certSecret.Name, &corev1.Secret{})
		secret.Data["ca.crt"] = []byte("old\nnew")
		Expect(apiServer.Update(ctx, secret)).To(Succeed())
		for _, job := range running {
			Eventually(caOf(ctx, job), "3s").Should(Equal("old\nnew"))
		}
		Expect(caOf(ctx, ended)()).To(Equal("old"))

		By("and a ConfigMap that somebody deleted comes back")
		Expect(apiServer.Delete(ctx, get(ctx, namespace, "job-0-tls-config", &corev1.ConfigMap{}))).To(Succeed())
		Eventually(caOf(ctx, running[0])).Should(Equal("old\nnew"))
	})

	It("holds the TrainJob back while there is no CA, and says so", func(ctx SpecContext) {
		startController(gateOn)
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime"))
		job := createJob(ctx, builders.MakeTrainJob(namespace, "waits"))
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateBlocked))
		Eventually(eventsOf(ctx, job)).Should(ContainElement(And(
			HavePrefix("Warning TrainJobResourcesCreationFailed: TrainJob resources reconciliation failed: "),
			ContainSubstring("looking up the CA of the status server"))))
		Expect(get(ctx, namespace, "waits", &trainer.TrainJob{}).Status.Conditions).To(BeEmpty())
		Expect(apierrors.IsNotFound(apiServer.Get(ctx, key(job), &jobsetv1alpha2.JobSet{}))).To(BeTrue())

		createSecret(ctx, "at last")
		jobSetOf(ctx, job)
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateCreated))
	})
})

var _ = Describe("A report", func() {
	It("causes no reconcile", func(ctx SpecContext) {
		startController()
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime"))
		job := createJob(ctx, builders.MakeTrainJob(namespace, "reports"))
		jobSetOf(ctx, job)
		before := quiet()
		for percent := range int64(50) {
			Expect(report(ctx, job, percent)).To(Succeed())
		}
		Eventually(func() *int32 {
			return get(ctx, namespace, "reports", &trainer.TrainJob{}).Status.TrainerStatus.ProgressPercentage
		}).Should(HaveValue(BeEquivalentTo(49)))
		Expect(quiet()).To(Equal(before))
		// The predicate must not be deaf either:
		editJob(ctx, job, func(j *trainer.TrainJob) { metav1.SetMetaDataLabel(&j.ObjectMeta, "seen", "yes") })
		Eventually(reconciles).Should(BeNumerically(">", before))
	})

	It("and suspending at the same time never erase each other's fields", func(ctx SpecContext) {
		startController()
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime"))
		job := createJob(ctx, builders.MakeTrainJob(namespace, "both"))
		jobSetOf(ctx, job)

		stop := make(chan struct{})
		var reporting sync.WaitGroup
		var last, lost int64
		reporting.Go(func() {
			defer GinkgoRecover()
			for percent := int64(0); ; percent = (percent + 1) % 101 {
				select {
				case <-stop:
					return
				default:
				}
				Expect(report(ctx, job, percent)).To(Succeed())
				last = percent
				now := get(ctx, namespace, "both", &trainer.TrainJob{})
				if now.Status.TrainerStatus == nil || int64(*now.Status.TrainerStatus.ProgressPercentage) != percent {
					lost++
				}
			}
		})
		for range 15 {
			for _, suspend := range []bool{true, false} {
				editJob(ctx, job, func(j *trainer.TrainJob) { j.Spec.Suspend = &suspend })
				want := map[bool]string{true: "True Suspended: TrainJob is suspended", false: "False Resumed: TrainJob is resumed"}[suspend]
				Eventually(conditionOf(ctx, job, trainer.TrainJobSuspended)).Should(Equal(want))
			}
		}
		close(stop)
		reporting.Wait()
		Expect(lost).To(BeZero())
		now := get(ctx, namespace, "both", &trainer.TrainJob{})
		Expect(now.Status.TrainerStatus.ProgressPercentage).To(HaveValue(BeEquivalentTo(last)))
		Expect(now.Status.State).To(Equal(trainer.TrainJobStateCreated))
	})
})
