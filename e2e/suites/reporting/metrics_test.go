// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package reporting

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// reconciles is how many TrainJob reconciles the manager has done, by its own metric.
func reconciles(ctx SpecContext) float64 {
	GinkgoHelper()
	count, err := bed.Metric(ctx, "controller_runtime_reconcile_total", map[string]string{"controller": "trainjob_controller"})
	Expect(err).NotTo(HaveOccurred())
	return count
}

// settledReconciles is the count once it has stood still for three seconds: a reconcile caused
// by what went before has then had its turn.
func settledReconciles(ctx SpecContext) float64 {
	GinkgoHelper()
	count := reconciles(ctx)
	since := time.Now()
	Eventually(func() bool {
		if now := reconciles(ctx); now != count {
			count, since = now, time.Now()
		}
		return time.Since(since) >= 3*time.Second
	}).WithContext(ctx).WithPolling(500 * time.Millisecond).Should(BeTrue())
	return count
}
