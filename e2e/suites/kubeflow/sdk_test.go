// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package kubeflow

import (
	"path/filepath"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	. "github.com/onsi/gomega/gstruct"
)

var _ = Describe("the published Kubeflow SDK, unchanged", Ordered, func() {
	const name = "sdk"
	var made calls

	BeforeAll(func(ctx SpecContext) {
		made = call(ctx, "kubeflow.trainer", "plain-distributed", "train_with_sdk", name)
	}, NodeTimeout(3*time.Minute))

	It("lists the runtimes of the chart", func() {
		Expect(result[[]runtime](made, "list_runtimes")).To(ConsistOf(
			runtime{"plain-distributed", "ClusterTrainingRuntime", "plain", training, 1, "python"},
			runtime{"torch-distributed", "ClusterTrainingRuntime", "torch", training, 1, "torchrun"},
		))
		Expect(result[runtime](made, "get_runtime").Name).To(Equal("plain-distributed"))
	})

	It("trains a Python function and follows it until it is complete", func() {
		Expect(result[string](made, "train")).To(Equal(name))
		Expect(result[job](made, "wait_for_job_status Running").Status).To(Equal("Running"))
		Expect(result[[]job](made, "callbacks")).To(ContainElement(HaveField("Status", "Running")))
		Expect(result[job](made, "wait_for_job_status Complete").Status).To(Equal("Complete"))
		Expect(result[job](made, "get_job")).To(MatchFields(IgnoreExtras, Fields{
			"Status": Equal("Complete"), "Runtime": Equal("plain-distributed"), "Nodes": Equal(1),
			"Steps": Equal(map[string]string{"node-0": "Succeeded"}),
		}))
		Expect(result[[]job](made, "list_jobs")).To(ContainElement(HaveField("Name", name)))
	})

	It("reports from the pod, and kubectl shows what is stored", func(ctx SpecContext) {
		Expect(show(ctx, name)).To(And(
			ContainSubstring(`"progressPercentage":100`),
			ContainSubstring(`"estimatedRemainingSeconds":0`),
			MatchRegexp(`\{"name":"slope","value":"2\.8\d+"\}`),
		))
	})

	It("gets logs and events", func() {
		logs := result[[]string](made, "get_job_logs")
		Expect(logs).To(ContainElement("step 1 sent True"))
		Expect(logs).To(ContainElement("step 2 sent False"), "the SDK sends at most one report every 5 seconds")
		Expect(result[[]string](made, "get_job_logs follow")).To(Equal(logs))
		events := result[[]event](made, "get_job_events")
		Expect(events).To(ContainElement(MatchFields(IgnoreExtras, Fields{"Kind": Equal("Pod"), "Reason": Equal("Started")})))
	})

	It("lacks trainer_status, and loses a last report", func() {
		Expect(result[job](made, "get_job").Has).To(BeFalse(), "the guide's program works with the SDK alone: tell the docs")
		Expect(result[[]string](made, "get_job_logs")).To(ContainElement(MatchRegexp(`a call with 100 came to nothing [1-9]\d* times`)))
	})

	It("deletes the TrainJob", func(ctx SpecContext) {
		call(ctx, "kubeflow.trainer", "delete", name)
		expectGone(ctx, name)
	})
})

var _ = Describe("milepost.kubeflow", Ordered, func() {
	const name = "milepost"
	var made calls

	BeforeAll(func(ctx SpecContext) {
		// Without a runtime, as the SDK's guides have it, it is torch-distributed.
		made = call(ctx, "milepost.kubeflow", "default", "train_with_milepost", name)
	}, NodeTimeout(3*time.Minute))

	It("is the SDK's client", func() {
		Expect(result[bool](made, "is the SDK's")).To(BeTrue())
		Expect(result[[]runtime](made, "list_runtimes")).To(HaveLen(2))
		Expect(result[job](made, "wait_for_job_status Complete")).To(MatchFields(IgnoreExtras, Fields{
			"Status": Equal("Complete"), "Runtime": Equal("torch-distributed"), "Steps": Equal(map[string]string{"node-0": "Succeeded"}),
		}))
	})

	It("shows the progress of a TrainJob that runs", func() {
		seen := map[int]bool{}
		for _, moment := range result[[]job](made, "callbacks") {
			Expect(moment.Has).To(BeTrue())
			if moment.Progress != nil && moment.Status == "Running" {
				seen[*moment.Progress] = true
			}
		}
		Expect(len(seen)).To(BeNumerically(">=", 2), "different values while it ran: %v", seen)
	})

	It("reports from the pod what its client returns and kubectl shows", func(ctx SpecContext) {
		done := result[job](made, "get_job")
		Expect(done).To(MatchFields(IgnoreExtras, Fields{
			"Has": BeTrue(), "Progress": HaveValue(Equal(100)), "ETA": HaveValue(Equal(0)),
			"Metrics": HaveKey("loss"), "Updated": MatchRegexp(`^\d{4}-\d\d-\d\dT.*\+00:00$`),
		}))
		Expect(result[[]job](made, "list_jobs")).To(ContainElement(done))
		stored := show(ctx, name)
		for metric, value := range done.Metrics {
			Expect(stored).To(ContainSubstring(`{"name":` + strconv.Quote(metric) + `,"value":` + strconv.Quote(value) + `}`))
		}
		logs := result[[]string](made, "get_job_logs")
		Expect(logs).To(ContainElement("last True"))
		Expect(logs).NotTo(ContainElement(ContainSubstring("False")))
	})

	It("sends no request more than the SDK", func() {
		requests := result[[]int](made, "requests of list_jobs")
		Expect(requests[0]).To(Equal(requests[1]))
	})

	It("makes the program of the guide work", func(ctx SpecContext) {
		out := run(ctx, filepath.Join("..", "..", "..", "..", "docs", "examples", "python", "kubeflow_sdk", "progress.py"), name)
		AddReportEntry("progress.py", out)
		Expect(out).To(MatchRegexp(`^Progress: 100%\nETA: 0s\nMetrics: \[.*name='loss', value='[\d.]+'`))
	})

	It("deletes the TrainJob", func(ctx SpecContext) {
		call(ctx, "milepost.kubeflow", "delete", name)
		expectGone(ctx, name)
	})
})
