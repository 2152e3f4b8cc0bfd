// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package reporting

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("a progress report", func() {
	It("causes no reconcile of the TrainJob", func(ctx SpecContext) {
		job := idleJob("quiet")
		create(ctx, job)
		pod := runningPod(ctx, job)
		Eventually(func(g Gomega) {
			g.Expect(string(get(ctx, job).Status.State)).To(Equal("Running"))
		}).WithContext(ctx).Should(Succeed())
		before := settledReconciles(ctx)

		for progress := int32(1); progress <= 20; progress++ {
			answer := post(ctx, job, token(ctx, pod, job), report(progress))
			Expect(answer.code).To(Equal(http.StatusOK), answer.body)
		}
		expectProgress(ctx, job, 20)
		Expect(settledReconciles(ctx)).To(Equal(before), "reconciles before and after 20 reports")

		// The counter does count: a change of the spec is a reconcile.
		suspend := true
		current := get(ctx, job)
		current.Spec.Suspend = &suspend
		Expect(bed.Client.Update(ctx, current)).To(Succeed())
		Eventually(func() float64 { return reconciles(ctx) }).WithContext(ctx).Should(BeNumerically(">", before))
	})
})
