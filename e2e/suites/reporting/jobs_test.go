// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package reporting

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// namespace holds the TrainJobs of this suite.
const namespace = "reporting"

// pythonJob is a TrainJob of one node on the image with the Python examples.
func pythonJob(name string, command ...string) *trainer.TrainJob {
	return jobOn(images.Python, name, command...)
}

// idleJob is a TrainJob whose pod only waits: the tests report in its stead.
func idleJob(name string) *trainer.TrainJob {
	return jobOn(images.Python, name, idleContainer().Command...)
}

func idleContainer() corev1.Container {
	// The first process of a container has to ask for SIGTERM, or it is only killed 30 s later.
	const wait = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit()); signal.pause()"
	return corev1.Container{Name: "node", Image: images.Python, Command: []string{"python3", "-c", wait}}
}

func jobOn(image, name string, command ...string) *trainer.TrainJob {
	return &trainer.TrainJob{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: trainer.TrainJobSpec{
			RuntimeRef: trainer.RuntimeRef{Name: "torch-distributed"},
			Trainer: &trainer.Trainer{
				Image:   &image,
				Command: command,
				ResourcesPerNode: &corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
				},
			},
		},
	}
}

// create makes the TrainJob and removes it when the spec or container that made it ends.
func create(ctx SpecContext, job *trainer.TrainJob) {
	GinkgoHelper()
	Expect(bed.Client.Create(ctx, job)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		background := client.PropagationPolicy(metav1.DeletePropagationBackground)
		Expect(client.IgnoreNotFound(bed.Client.Delete(ctx, job, background))).To(Succeed())
		waitGone(ctx, job)
	})
}

func get(ctx SpecContext, job *trainer.TrainJob) *trainer.TrainJob {
	GinkgoHelper()
	current := &trainer.TrainJob{}
	Expect(bed.Client.Get(ctx, client.ObjectKeyFromObject(job), current)).To(Succeed())
	return current
}

func waitGone(ctx SpecContext, job *trainer.TrainJob) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		err := bed.Client.Get(ctx, client.ObjectKeyFromObject(job), &trainer.TrainJob{})
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "TrainJob %s is gone", job.Name)
		g.Expect(pods(ctx, g, job)).To(BeEmpty(), "pods of %s are gone", job.Name)
	}).WithContext(ctx).Should(Succeed())
}

func waitFinished(ctx SpecContext, job *trainer.TrainJob) {
	GinkgoHelper()
	Eventually(func() bool { return finished(get(ctx, job)) }).WithContext(ctx).Should(BeTrue(), "TrainJob %s is finished", job.Name)
}

func finished(job *trainer.TrainJob) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c metav1.Condition) bool {
		return (c.Type == trainer.TrainJobComplete || c.Type == trainer.TrainJobFailed) && c.Status == metav1.ConditionTrue
	})
}

func expectProgress(ctx SpecContext, job *trainer.TrainJob, percent int32) {
	GinkgoHelper()
	Eventually(func() *trainer.TrainerStatus { return get(ctx, job).Status.TrainerStatus }).WithContext(ctx).
		Should(HaveField("ProgressPercentage", HaveValue(Equal(percent))))
}

// pods lists the pods of a TrainJob by the label JobSet gives them; the JobSet has the TrainJob's name.
func pods(ctx SpecContext, g Gomega, job *trainer.TrainJob) []corev1.Pod {
	list := &corev1.PodList{}
	g.Expect(bed.Client.List(ctx, list, client.InNamespace(job.Namespace),
		client.MatchingLabels{"jobset.sigs.k8s.io/jobset-name": job.Name})).To(Succeed())
	return list.Items
}

// runningPod waits for the one running pod of the TrainJob as it is today.
func runningPod(ctx SpecContext, job *trainer.TrainJob) *corev1.Pod {
	GinkgoHelper()
	var found corev1.Pod
	Eventually(func(g Gomega) {
		list := pods(ctx, g, job)
		g.Expect(list).To(HaveLen(1))
		g.Expect(list[0].Status.Phase).To(Equal(corev1.PodRunning))
		found = list[0]
	}).WithContext(ctx).Should(Succeed())
	return &found
}

func logs(ctx SpecContext, job *trainer.TrainJob) string {
	GinkgoHelper()
	return kubectl(ctx, "logs", "-n", job.Namespace, "-l", "jobset.sigs.k8s.io/jobset-name="+job.Name, "--tail=-1")
}

func kubectl(ctx SpecContext, args ...string) string {
	GinkgoHelper()
	out, err := bed.Kubectl(ctx, args...)
	Expect(err).NotTo(HaveOccurred())
	return out
}
