// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package languages shows the reporter of every language at work: a real training program in each,
// in a pod of its own TrainJob, all at once.
package languages

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/milepost-dev/milepost/e2e/testbed"
)

// namespace holds the TrainJobs of this suite.
const namespace = "languages"

var bed *testbed.Bed

func TestMain(m *testing.M) { testbed.Main(m, loadExamples) }

// loadExamples makes the image of each program.
func loadExamples(ctx context.Context, outside testbed.Outside) ([]string, error) {
	for _, p := range programs {
		if err := outside.LoadExample(ctx, p.language); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func TestLanguages(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(2 * time.Minute)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	RunSpecs(t, "languages")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	bed, err = testbed.Connect(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(bed.Install(ctx, testbed.Helm4, "--set", "runtimes.plainDistributed.enabled=true")).To(Succeed())
	Expect(bed.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
}, NodeTimeout(5*time.Minute))

var _ = AfterSuite(func(ctx SpecContext) {
	if bed == nil {
		return
	}
	Expect(bed.DeleteNamespace(ctx, namespace)).To(Succeed())
	Expect(bed.Uninstall(ctx, testbed.Helm4)).To(Succeed())
}, NodeTimeout(5*time.Minute))

var _ = ReportAfterEach(func(ctx SpecContext, report SpecReport) {
	if report.Failed() && bed != nil {
		Expect(bed.Dump(ctx, report.LeafNodeText)).To(Succeed())
	}
})
