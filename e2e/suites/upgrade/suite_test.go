// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package upgrade shows the life of an installation: installed, upgraded and removed with Helm 3
// and Helm 4, without losing a report or leaving anything behind.
package upgrade

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/milepost-dev/milepost/e2e/testbed"
)

var bed *testbed.Bed

func TestMain(m *testing.M) { testbed.Main(m) }

func TestUpgrade(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(2 * time.Minute)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	RunSpecs(t, "upgrade")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	bed, err = testbed.Connect(ctx)
	Expect(err).NotTo(HaveOccurred())
}, NodeTimeout(time.Minute))

var _ = ReportAfterEach(func(ctx SpecContext, report SpecReport) {
	if report.Failed() && bed != nil {
		Expect(bed.Dump(ctx, report.LeafNodeText)).To(Succeed())
	}
})
