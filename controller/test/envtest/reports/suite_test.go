// SPDX-License-Identifier: Apache-2.0

// Package reports_test runs the report flow against a real API server: the whole
// manager with the tokens of real pods, and its parts where a fault has to be
// brought about that the whole never shows.
package reports_test

import (
	"context"
	"net/http"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/milepost-dev/milepost/controller/internal/testkit/envtest"
	"github.com/milepost-dev/milepost/controller/internal/testkit/leaks"
	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
	"github.com/milepost-dev/milepost/controller/internal/testkit/trainingpods"
)

var (
	cluster   *envtest.Cluster
	apiServer client.Client
	kit       trainingpods.Kit
	endSuite  context.CancelFunc
	// program is the manager, in a folder that ends with the suite.
	program, folder string
)

func TestMain(m *testing.M) { os.Exit(leaks.Check(m.Run())) }

func TestReports(t *testing.T) {
	envtest.Require(t)
	RegisterFailHandler(Fail)
	RunSpecs(t, "Report flow")
}

var _ = BeforeSuite(func() {
	ctrl.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	SetDefaultEventuallyTimeout(15 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	SetDefaultConsistentlyDuration(time.Second)

	var ctx context.Context
	ctx, endSuite = context.WithCancel(context.Background())
	var err error
	cluster, err = envtest.Start(ctx, envtest.Options{})
	Expect(err).NotTo(HaveOccurred())
	apiServer, err = client.New(cluster.Config, client.Options{Scheme: cluster.Scheme})
	Expect(err).NotTo(HaveOccurred())
	kit = trainingpods.Kit{Client: apiServer, Namespace: "reports"}
	Expect(livemanager.Prepare(ctx, apiServer)).To(Succeed())
	Expect(kit.Prepare(ctx)).To(Succeed())
	folder, err = os.MkdirTemp("", "reports")
	Expect(err).NotTo(HaveOccurred())
	program, err = livemanager.Build(ctx, folder)
	Expect(err).NotTo(HaveOccurred())
})

var _ = AfterSuite(func() {
	if cluster == nil {
		return
	}
	endSuite()
	Expect(cluster.Stop()).To(Succeed())
	Expect(os.RemoveAll(folder)).To(Succeed())
})

// startManager runs a manager that ends with the spec, unless it ended before.
func startManager(opts livemanager.Options) *livemanager.Manager {
	GinkgoHelper()
	opts.Program, opts.Folder, opts.Log = program, folder, GinkgoWriter
	m, err := livemanager.Start(context.Background(), cluster.Config, apiServer, opts)
	Expect(err).NotTo(HaveOccurred())
	return m
}

// httpClient reaches a manager as a pod does.
func httpClient(ctx context.Context, m *livemanager.Manager) *http.Client {
	GinkgoHelper()
	config, err := m.TLS(ctx)
	Expect(err).NotTo(HaveOccurred())
	transport := &http.Transport{TLSClientConfig: config}
	DeferCleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}
}
