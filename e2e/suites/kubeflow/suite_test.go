// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package kubeflow shows that the published Kubeflow SDK works against Milepost as it is: its
// function in training pods, and its client from outside of the cluster.
package kubeflow

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/milepost-dev/milepost/e2e/infra/images"
	"github.com/milepost-dev/milepost/e2e/testbed"
)

const (
	namespace = "kubeflow"
	// training is the image of the pods: the SDK, our package, and a stand-in for torchrun.
	training = "localhost/milepost/e2e/kubeflow:dev"
	// pathVariable tells the tests where Python finds the SDK and our package on this machine.
	pathVariable = "MILEPOST_E2E_KUBEFLOW_PYTHONPATH"
)

var bed *testbed.Bed

func TestMain(m *testing.M) { testbed.Main(m, prepare) }

// prepare makes the image for pods and the packages for programs outside of the cluster.
func prepare(ctx context.Context, outside testbed.Outside) ([]string, error) {
	suite := filepath.Join(outside.Root, "e2e", "suites", "kubeflow")
	requirements := filepath.Join(outside.Root, "reporters", "python", "frameworks", "kubeflow.txt")
	sdk, err := outside.Packages.Installed(ctx, requirements)
	if err != nil {
		return nil, err
	}
	milepost, err := outside.Packages.Milepost(ctx, outside.Root)
	if err != nil {
		return nil, err
	}
	err = outside.LoadPython(ctx, images.Python{
		Reference:    training,
		Requirements: requirements,
		Folders: []images.Folder{
			{Source: milepost, Target: images.SitePackages},
			{Source: filepath.Join(suite, "image"), Target: "/usr/local/bin"},
		},
		// The commands that the SDK makes write the function to a file where they start.
		WorkingDir: "/tmp",
	})
	return []string{pathVariable + "=" + milepost + string(os.PathListSeparator) + sdk}, err
}

func TestKubeflow(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(2 * time.Minute)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	RunSpecs(t, "kubeflow")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	bed, err = testbed.Connect(ctx)
	Expect(err).NotTo(HaveOccurred())
	var values []string
	for _, runtime := range []string{"torchDistributed", "plainDistributed"} {
		for _, value := range []string{"enabled=true", "image.registry=localhost", "image.repository=milepost/e2e/kubeflow", "image.tag=dev"} {
			values = append(values, "--set", "runtimes."+runtime+"."+value)
		}
	}
	Expect(bed.Install(ctx, testbed.Helm4, values...)).To(Succeed())
	Expect(bed.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
	user = newUser(ctx)
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
