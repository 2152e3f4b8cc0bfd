// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package reporting shows the way of a report on a real cluster: from a training pod, through
// the status endpoint, into what kubectl prints.
package reporting

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/milepost-dev/milepost/e2e/testbed"
)

var (
	bed    *testbed.Bed
	images testbed.Images
)

func TestMain(m *testing.M) { testbed.Main(m) }

func TestReporting(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(2 * time.Minute)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	RunSpecs(t, "reporting")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	bed, err = testbed.Connect(ctx)
	Expect(err).NotTo(HaveOccurred())
	images = testbed.DefaultImages()
	Expect(bed.Install(ctx, testbed.Helm4)).To(Succeed())
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
