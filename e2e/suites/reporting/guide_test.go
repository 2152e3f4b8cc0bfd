// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package reporting

import (
	"encoding/json"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// The user guide of TrainJob progress must hold word for word: its raw-HTTP example runs
// unchanged in a pod, and its kubectl commands print what it shows.
var _ = Describe("the user guide", Ordered, func() {
	var job *trainer.TrainJob

	BeforeAll(func(ctx SpecContext) {
		job = pythonJob("guide", "python3", "/app/raw_http/guide.py")
		create(ctx, job)
		waitFinished(ctx, job)
	})

	It("has a raw-HTTP example that reports when it is run as it is", func(ctx SpecContext) {
		Expect(logs(ctx, job)).NotTo(ContainSubstring("Failed to update TrainJob progress"))
		got := get(ctx, job)
		Expect(got.Status.State).To(Equal(trainer.TrainJobStateComplete))
		status := got.Status.TrainerStatus
		Expect(status).NotTo(BeNil(), "status.trainerStatus")
		Expect(status.ProgressPercentage).To(HaveValue(BeEquivalentTo(45)))
		Expect(status.EstimatedRemainingSeconds).To(HaveValue(BeEquivalentTo(120)))
		Expect(status.Metrics).To(Equal([]trainer.Metric{{Name: "loss", Value: "0.15"}, {Name: "accuracy", Value: "0.92"}}))
		Expect(status.LastUpdatedTime.IsZero()).To(BeFalse(), "lastUpdatedTime")
	})

	It("shows the status through jsonpath", func(ctx SpecContext) {
		out := kubectl(ctx, "get", "trainjob", job.Name, "-n", job.Namespace, "-o", "jsonpath={.status.trainerStatus}")
		var status map[string]any
		Expect(json.Unmarshal([]byte(out), &status)).To(Succeed(), out)
		Expect(status).To(HaveKeyWithValue("progressPercentage", BeEquivalentTo(45)))
		Expect(status).To(HaveKeyWithValue("estimatedRemainingSeconds", BeEquivalentTo(120)))
		Expect(status).To(HaveKey("lastUpdatedTime"))
		Expect(status["metrics"]).To(ContainElement(HaveKeyWithValue("name", "loss")))
	})

	It("shows the status through kubectl describe, with the field names of the guide", func(ctx SpecContext) {
		out := kubectl(ctx, "describe", "trainjob", job.Name, "-n", job.Namespace)
		_, status, found := strings.Cut(out, "\nStatus:\n")
		Expect(found).To(BeTrue(), out)
		for _, line := range []string{
			`Trainer Status:`,
			`Progress Percentage: +45`,
			`Estimated Remaining Seconds: +120`,
			`Metrics:\n +Name: +loss\n +Value: +0\.15\n +Name: +accuracy\n +Value: +0\.92`,
			`Last Updated Time: +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`,
		} {
			Expect(status).To(MatchRegexp(line))
		}
	})

	It("shows NAME STATE PROGRESS ETA AGE in a list", func(ctx SpecContext) {
		out := kubectl(ctx, "get", "trainjob", job.Name, "-n", job.Namespace)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		Expect(lines).To(HaveLen(2), out)
		Expect(strings.Fields(lines[0])).To(Equal([]string{"NAME", "STATE", "PROGRESS", "ETA", "AGE"}))
		Expect(lines[1]).To(MatchRegexp(`^` + regexp.QuoteMeta(job.Name) + ` +Complete +45 +120 +\S+$`))
	})
})
