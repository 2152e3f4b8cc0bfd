// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package languages

import (
	"slices"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// moment is what one watch event showed of a TrainJob. Its fields are exported for the matchers.
type moment struct {
	State    trainer.TrainJobState
	Progress *int32
	ETA      *int32
	Metrics  map[string]float64
}

// finished tells whether nothing more can happen to the TrainJob.
func (m moment) finished() bool {
	return m.State == trainer.TrainJobStateComplete || m.State == trainer.TrainJobStateFailed
}

// trains tells whether a program has come part of its way.
func (m moment) trains() bool {
	return m.State == trainer.TrainJobStateRunning && m.Progress != nil && *m.Progress > 0 && *m.Progress < 100
}

func watchJobs(ctx SpecContext) watch.Interface {
	GinkgoHelper()
	w, err := bed.Client.Watch(ctx, &trainer.TrainJobList{}, client.InNamespace(namespace))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(w.Stop)
	return w
}

// follow collects what is seen of so many TrainJobs until all are finished. It calls together once,
// when all of them train at the same time, and fails when they never do.
func follow(ctx SpecContext, w watch.Interface, count int, together func()) map[string][]moment {
	GinkgoHelper()
	seen := map[string][]moment{}
	every := func(holds func(moment) bool) bool {
		if len(seen) < count {
			return false
		}
		for _, moments := range seen {
			if !holds(moments[len(moments)-1]) {
				return false
			}
		}
		return true
	}
	met := false
	for !every(moment.finished) {
		select {
		case <-ctx.Done():
			Fail("the TrainJobs did not finish in time")
		case event, open := <-w.ResultChan():
			Expect(open).To(BeTrue(), "the watch stays open")
			job, ok := event.Object.(*trainer.TrainJob)
			Expect(ok).To(BeTrue(), "the watch reported %v", event.Object)
			if job.Status.State != "" {
				seen[job.Name] = append(seen[job.Name], momentOf(job))
			}
		}
		if !met && every(moment.trains) {
			met = true
			together()
		}
	}
	Expect(met).To(BeTrue(), "at one moment all programs were training")
	return seen
}

func momentOf(job *trainer.TrainJob) moment {
	m := moment{State: job.Status.State, Metrics: map[string]float64{}}
	if s := job.Status.TrainerStatus; s != nil {
		m.Progress, m.ETA = s.ProgressPercentage, s.EstimatedRemainingSeconds
		for _, metric := range s.Metrics {
			value, err := strconv.ParseFloat(metric.Value, 64)
			Expect(err).NotTo(HaveOccurred(), "metric %s", metric.Name)
			m.Metrics[metric.Name] = value
		}
	}
	return m
}

// during are the moments in a state with a progress.
func during(moments []moment, state trainer.TrainJobState) []moment {
	return slices.DeleteFunc(slices.Clone(moments), func(m moment) bool { return m.State != state || m.Progress == nil })
}

// progressOf lists the progress of the moments without repetitions.
func progressOf(moments []moment) []int32 {
	var values []int32
	for _, m := range moments {
		values = append(values, *m.Progress)
	}
	return slices.Compact(values)
}
