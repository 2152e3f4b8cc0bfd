// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package languages

import (
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/e2e/testbed"
)

// program is the training program of a language, and how long it trains: some ten seconds of a core,
// so that all of them together take two cores for the better part of a minute.
type program struct {
	language string
	epochs   int
}

// programs has every language with a reporter, and a shell script for all others.
var programs = []program{
	{language: "go", epochs: 600},
	{language: "java", epochs: 600},
	{language: "python", epochs: 600},
	{language: "rust", epochs: 1300},
	{language: "shell", epochs: 20},
	{language: "typescript", epochs: 120},
}

func (p program) job() *trainer.TrainJob {
	image := testbed.ExampleImage(p.language)
	return &trainer.TrainJob{
		ObjectMeta: metav1.ObjectMeta{Name: p.language, Namespace: namespace},
		Spec: trainer.TrainJobSpec{
			RuntimeRef: trainer.RuntimeRef{Name: "plain-distributed"},
			Trainer: &trainer.Trainer{
				Image: &image,
				Args:  []string{strconv.Itoa(p.epochs)}, // behind what the image starts
				ResourcesPerNode: &corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
				},
			},
		},
	}
}

var _ = Describe("a training program in each language", Ordered, func() {
	var seen map[string][]moment

	BeforeAll(func(ctx SpecContext) {
		events := watchJobs(ctx)
		for _, p := range programs {
			Expect(bed.Client.Create(ctx, p.job())).To(Succeed())
		}
		seen = follow(ctx, events, len(programs), func() {
			AddReportEntry("all programs train at the same time", "\n"+table(ctx))
		})
		AddReportEntry("all programs are done", "\n"+table(ctx))
	}, NodeTimeout(8*time.Minute))

	for _, p := range programs {
		It("reports from "+p.language+" until it is complete", func(ctx SpecContext) {
			moments := seen[p.language]
			Expect(moments).NotTo(BeEmpty())

			By("counting up while the pod trains")
			running := during(moments, trainer.TrainJobStateRunning)
			values := progressOf(running)
			Expect(len(values)).To(BeNumerically(">=", 3), "different progress values seen while Running: %v", values)
			for i := 1; i < len(values); i++ {
				Expect(values[i]).To(BeNumerically(">", values[i-1]), "progress never goes back: %v", values)
			}
			Expect(running).To(ContainElement(HaveField("ETA", HaveValue(BeNumerically(">", 0)))), "a time remaining was shown")

			By("ending Complete, with the last report of the program")
			last := moments[len(moments)-1]
			Expect(last.State).To(Equal(trainer.TrainJobStateComplete))
			Expect(last.Progress).To(HaveValue(BeEquivalentTo(100)))
			Expect(last.ETA).To(HaveValue(BeEquivalentTo(0)))

			By("telling what the program learned")
			Expect(last.Metrics).To(HaveLen(2))
			Expect(last.Metrics["accuracy"]).To(And(BeNumerically(">=", 0.9), BeNumerically("<=", 1)), "images that were read right")
			Expect(last.Metrics["loss"]).To(And(BeNumerically(">", 0), BeNumerically("<", 0.2)))
			Expect(logs(ctx, p.language)).To(ContainSubstring("images that it did not learn from are read right"))
		})
	}
})

// table is what kubectl shows of all jobs.
func table(ctx SpecContext) string {
	GinkgoHelper()
	out, err := bed.Kubectl(ctx, "get", "trainjob", "-n", namespace)
	Expect(err).NotTo(HaveOccurred())
	return strings.TrimRight(out, "\n")
}

func logs(ctx SpecContext, job string) string {
	GinkgoHelper()
	out, err := bed.Kubectl(ctx, "logs", "-n", namespace, "-l", "jobset.sigs.k8s.io/jobset-name="+job, "--tail=-1")
	Expect(err).NotTo(HaveOccurred())
	return out
}
