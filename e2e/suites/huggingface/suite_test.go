// SPDX-License-Identifier: Apache-2.0

//go:build e2e_huggingface

// Package huggingface shows that a Trainer of Hugging Face Transformers reports by itself from a
// pod: with the callback that newer versions have, and with ours where they have none.
package huggingface

import (
	"context"
	"fmt"
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
	namespace = "huggingface"
	// plain is an image with Python and the example, and nothing of ours.
	plain = "localhost/milepost/e2e/huggingface:dev"
	// withMilepost is the same with the package milepost installed.
	withMilepost = "localhost/milepost/e2e/huggingface-milepost:dev"
)

var bed *testbed.Bed

func TestMain(m *testing.M) { testbed.Main(m, prepare) }

// prepare makes the two images. They hold neither PyTorch nor Transformers, see packages_test.go.
func prepare(ctx context.Context, outside testbed.Outside) ([]string, error) {
	for _, variable := range []string{newestVariable, olderVariable} {
		if os.Getenv(variable) == "" {
			return nil, fmt.Errorf("%s is not set: `go tool mage e2e:huggingface` sets it", variable)
		}
	}
	milepost, err := outside.Packages.Milepost(ctx, outside.Root)
	if err != nil {
		return nil, err
	}
	examples := images.Folder{Source: filepath.Join(outside.Root, "docs", "examples", "python", "transformers"), Target: "/app"}
	image := images.Python{Reference: plain, Folders: []images.Folder{examples}, WorkingDir: "/tmp"}
	if err := outside.LoadPython(ctx, image); err != nil {
		return nil, err
	}
	image.Reference = withMilepost
	image.Folders = append(image.Folders, images.Folder{Source: milepost, Target: images.SitePackages})
	return nil, outside.LoadPython(ctx, image)
}

func TestHuggingFace(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(5 * time.Minute)
	SetDefaultEventuallyPollingInterval(500 * time.Millisecond)
	RunSpecs(t, "huggingface")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	bed, err = testbed.Connect(ctx)
	Expect(err).NotTo(HaveOccurred())
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
