// SPDX-License-Identifier: Apache-2.0

//go:build e2e_huggingface

package huggingface

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// variant is a way to run the example, whose program has no line about reporting.
type variant struct {
	packages string // variable that names the folders with PyTorch and a version of Transformers
	image    string
	env      []corev1.EnvVar
	builtin  bool // whether the callback of Transformers itself reports
}

var _ = Describe("Trainer.train() in a pod", func() {
	DescribeTable("reports by itself, with no line about it in the program",
		func(ctx SpecContext, name string, v variant) {
			before := requests(ctx)
			// Ten seconds of training on two idle cores: the callbacks report every 5.
			job, seen := train(ctx, name, v, "--samples=20000")
			sent := requests(ctx) - before
			metrics := show(ctx, job)
			AddReportEntry("progress while it trained", fmt.Sprint(seen))

			Expect(seen).To(ContainElement(And(BeNumerically(">", 0), BeNumerically("<", 100))))
			Expect(job.Status.TrainerStatus.ProgressPercentage).To(HaveValue(BeEquivalentTo(100)))
			Expect(metrics).To(HaveKey("eval_accuracy"), "compute_metrics returned it")
			Expect(metrics).To(HaveKey("train_runtime"))

			seconds, err := strconv.ParseFloat(metrics["train_runtime"], 64)
			Expect(err).NotTo(HaveOccurred())
			AddReportEntry("requests", strconv.Itoa(sent)+" in "+metrics["train_runtime"]+" s of training")
			Expect(sent).To(BeNumerically(">=", 2))
			if v.builtin {
				// One at the beginning, one at the end, and at most one every 5 seconds between. Two
				// callbacks in a process would send at least two more.
				Expect(sent).To(BeNumerically("<=", 2+int(seconds/5)))
			}
		},
		Entry("the newest Transformers, with its own callback", SpecTimeout(10*time.Minute),
			"newest", variant{packages: newestVariable, image: plain, builtin: true}),
		Entry("the newest Transformers with milepost installed, which stays silent beside it", SpecTimeout(10*time.Minute),
			"newest-milepost", variant{packages: newestVariable, image: withMilepost, builtin: true}),
		Entry("Transformers 4.57 with milepost installed", SpecTimeout(10*time.Minute),
			"older-milepost", variant{packages: olderVariable, image: withMilepost}),
	)

	DescribeTable("reports nothing",
		func(ctx SpecContext, name string, v variant) {
			before := requests(ctx)
			job, _ := train(ctx, name, v)
			Expect(requests(ctx)).To(Equal(before))
			Expect(job.Status.TrainerStatus).To(BeNil())
		},
		Entry("with Transformers 4.57 alone, which has no callback", SpecTimeout(10*time.Minute),
			"older", variant{packages: olderVariable, image: plain}),
		Entry("with milepost installed and switched off by the variable of the newest Transformers", SpecTimeout(10*time.Minute),
			"older-off", variant{packages: olderVariable, image: withMilepost, env: []corev1.EnvVar{
				{Name: "DISABLE_KUBEFLOW_INTEGRATION", Value: "TRUE"},
			}}),
	)
})

// train runs the example until it is complete, and returns every progress that was stored.
func train(ctx SpecContext, name string, v variant, arguments ...string) (*trainer.TrainJob, []int32) {
	GinkgoHelper()
	runtimeWith(ctx, name, v.image, v.packages)
	group, kind := trainer.GroupVersion.Group, "TrainingRuntime"
	job := &trainer.TrainJob{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: trainer.TrainJobSpec{
			RuntimeRef: trainer.RuntimeRef{Name: name, APIGroup: &group, Kind: &kind},
			Trainer: &trainer.Trainer{
				Command: append([]string{"python3", "/app/train.py"}, arguments...),
				Env:     v.env,
				ResourcesPerNode: &corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")},
				},
			},
		},
	}
	Expect(bed.Client.Create(ctx, job)).To(Succeed())
	var seen []int32
	Eventually(func(g Gomega) {
		g.Expect(bed.Client.Get(ctx, client.ObjectKeyFromObject(job), job)).To(Succeed())
		if status := job.Status.TrainerStatus; status != nil && status.ProgressPercentage != nil {
			seen = append(seen, *status.ProgressPercentage)
		}
		g.Expect(job.Status.State).To(BeElementOf(trainer.TrainJobStateComplete, trainer.TrainJobStateFailed))
	}).WithContext(ctx).Should(Succeed())
	logs := kubectl(ctx, "logs", "-n", namespace, "-l", "jobset.sigs.k8s.io/jobset-name="+name, "--tail=-1")
	Expect(job.Status.State).To(Equal(trainer.TrainJobStateComplete), logs)
	Expect(logs).To(ContainSubstring("accuracy"), "the program trained")
	return job, slices.Compact(seen)
}

// requests is how many requests the status endpoint has answered.
func requests(ctx SpecContext) int {
	GinkgoHelper()
	count, err := bed.Metric(ctx, "milepost_reports_requests_total", nil)
	Expect(err).NotTo(HaveOccurred())
	return int(count)
}

// show prints what kubectl says of the TrainJob, and returns the metrics in it.
func show(ctx SpecContext, job *trainer.TrainJob) map[string]string {
	GinkgoHelper()
	AddReportEntry("kubectl get trainjob", kubectl(ctx, "get", "trainjob", job.Name, "-n", namespace))
	AddReportEntry("kubectl get -o jsonpath={.status.trainerStatus}",
		kubectl(ctx, "get", "trainjob", job.Name, "-n", namespace, "-o", "jsonpath={.status.trainerStatus}"))
	Expect(job.Status.TrainerStatus).NotTo(BeNil())
	metrics := map[string]string{}
	for _, metric := range job.Status.TrainerStatus.Metrics {
		metrics[metric.Name] = metric.Value
	}
	return metrics
}

func kubectl(ctx SpecContext, arguments ...string) string {
	GinkgoHelper()
	out, err := bed.Kubectl(ctx, arguments...)
	Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(out)
}
