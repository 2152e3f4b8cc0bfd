// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package reporting

import (
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// moment is what one watch event showed of a TrainJob. Its fields are exported for the matchers.
type moment struct {
	State    string
	Progress *int32
	ETA      *int32
	Metrics  []string
}

var _ = Describe("a training pod", func() {
	It("shows its progress live and keeps its last report when it is complete", func(ctx SpecContext) {
		job := pythonJob("digits", "python3", "/app/digits/train.py", "--report-interval=2")
		create(ctx, job)
		moments := watchUntilFinished(ctx, job)
		final := get(ctx, job)

		By("counting up while the pod trains")
		running := slices.DeleteFunc(slices.Clone(moments), func(m moment) bool { return m.State != "Running" || m.Progress == nil })
		seen := distinctProgress(running)
		Expect(len(seen)).To(BeNumerically(">=", 5), "different progress values seen while Running: %v", seen)
		Expect(slices.IsSorted(seen)).To(BeTrue(), "progress never went back: %v", seen)
		Expect(running).To(ContainElement(HaveField("ETA", HaveValue(BeNumerically(">", 0)))), "an ETA was shown while Running")
		Expect(running).To(ContainElement(HaveField("Metrics", ContainElements("loss", "accuracy"))))

		By("telling the truth in the STATE column at every moment")
		for _, m := range moments {
			Expect(m.State).To(BeElementOf("Created", "Running", "Complete"))
		}

		By("ending Complete at 100 % with the last report kept")
		Expect(final.Status.State).To(Equal(trainer.TrainJobStateComplete))
		Expect(final.Status.TrainerStatus.ProgressPercentage).To(HaveValue(BeEquivalentTo(100)))
		Expect(final.Status.TrainerStatus.Metrics).NotTo(BeEmpty())
		Expect(final.Status.Conditions).To(ConsistOf(And(
			HaveField("Type", "Complete"), HaveField("Status", BeEquivalentTo("True")), HaveField("Reason", "AllJobsCompleted"),
		)))
		Expect(final.Status.JobsStatus).To(ConsistOf(And(HaveField("Name", "node"), HaveField("Succeeded", HaveValue(BeEquivalentTo(1))))))
	}, SpecTimeout(5*time.Minute))
})

// watchUntilFinished follows the TrainJob through the watch API until it is Complete or Failed.
func watchUntilFinished(ctx SpecContext, job *trainer.TrainJob) []moment {
	GinkgoHelper()
	list := &trainer.TrainJobList{}
	w, err := bed.Client.Watch(ctx, list, client.InNamespace(job.Namespace), client.MatchingFields{"metadata.name": job.Name})
	Expect(err).NotTo(HaveOccurred())
	defer w.Stop()
	var moments []moment
	for {
		select {
		case <-ctx.Done():
			Fail("the TrainJob did not finish in time")
		case event, open := <-w.ResultChan():
			Expect(open).To(BeTrue(), "the watch stays open")
			if event.Type == watch.Error {
				Fail("the watch reported an error")
			}
			current, ok := event.Object.(*trainer.TrainJob)
			if !ok || current.Status.State == "" {
				continue
			}
			moments = append(moments, momentOf(current))
			if finished(current) {
				return moments
			}
		}
	}
}

func momentOf(job *trainer.TrainJob) moment {
	m := moment{State: string(job.Status.State)}
	if s := job.Status.TrainerStatus; s != nil {
		m.Progress, m.ETA = s.ProgressPercentage, s.EstimatedRemainingSeconds
		for _, metric := range s.Metrics {
			m.Metrics = append(m.Metrics, metric.Name)
		}
	}
	return m
}

func distinctProgress(moments []moment) []int32 {
	var values []int32
	for _, m := range moments {
		if len(values) == 0 || values[len(values)-1] != *m.Progress {
			values = append(values, *m.Progress)
		}
	}
	return values
}
