// SPDX-License-Identifier: Apache-2.0

// Package trainjob_test runs the job flow against a real API server with the real
// webhooks of JobSet. What the controller of JobSet would do, the tests do: they
// set the status of JobSets and delete them.
package trainjob_test

import (
	"context"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/testkit/envtest"
	"github.com/milepost-dev/milepost/controller/internal/testkit/jobsetadmission"
	"github.com/milepost-dev/milepost/controller/internal/testkit/leaks"
	"github.com/milepost-dev/milepost/controller/internal/trainjob"
)

const operatorNamespace = "kubeflow-system"

var (
	cluster   *envtest.Cluster
	apiServer client.Client
	endSuite  context.CancelFunc

	certSecret = types.NamespacedName{Namespace: operatorNamespace, Name: "kubeflow-trainer-webhook-cert"}
)

func TestMain(m *testing.M) { os.Exit(leaks.Check(m.Run())) }

func TestTrainJob(t *testing.T) {
	envtest.Require(t)
	RegisterFailHandler(Fail)
	RunSpecs(t, "TrainJob controller")
}

var _ = BeforeSuite(func() {
	ctrl.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	SetDefaultEventuallyTimeout(15 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	SetDefaultConsistentlyDuration(time.Second)

	var ctx context.Context
	ctx, endSuite = context.WithCancel(context.Background())
	var err error
	cluster, err = envtest.Start(ctx, envtest.Options{
		Mutating:   []*admissionregistrationv1.MutatingWebhookConfiguration{jobsetadmission.Mutating()},
		Validating: []*admissionregistrationv1.ValidatingWebhookConfiguration{jobsetadmission.Validating()},
	})
	Expect(err).NotTo(HaveOccurred())
	apiServer, err = client.New(cluster.Config, client.Options{Scheme: cluster.Scheme})
	Expect(err).NotTo(HaveOccurred())
	Expect(apiServer.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}})).To(Succeed())

	jobSet, err := ctrl.NewManager(cluster.Config, ctrl.Options{
		Scheme:        cluster.Scheme,
		Metrics:       metricsserver.Options{BindAddress: "0"},
		WebhookServer: cluster.WebhookServer(),
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(jobsetadmission.SetupWithManager(jobSet)).To(Succeed())
	go func() {
		defer GinkgoRecover()
		Expect(jobSet.Start(ctx)).To(Succeed())
	}()
	Eventually(func() error { return jobSet.GetWebhookServer().StartedChecker()(nil) }).Should(Succeed())
})

var _ = AfterSuite(func() {
	if endSuite != nil {
		endSuite()
	}
	if cluster != nil {
		Expect(cluster.Stop()).To(Succeed())
	}
})

// startController runs the controller until the test ends, or until the returned
// function is called.
func startController(edit ...func(*trainjob.Config)) (stop func()) {
	GinkgoHelper()
	return startControllerAs(cluster.Config, edit...)
}

// startControllerAs does so with the rights of another user.
func startControllerAs(user *rest.Config, edit ...func(*trainjob.Config)) (stop func()) {
	GinkgoHelper()
	settings := trainjob.Config{MaxConcurrentReconciles: 5, Clock: clock.RealClock{}}
	for _, change := range edit {
		change(&settings)
	}
	objects := trainjob.CacheOptions(certSecret)
	objects[&trainer.TrainJob{}] = cache.ByObject{Transform: trainjob.SlimTrainJob}
	mgr, err := ctrl.NewManager(user, ctrl.Options{
		Scheme:     cluster.Scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{ByObject: objects},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(trainjob.SetupWithManager(mgr, settings)).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		Eventually(done).Should(Receive(BeNil()))
	}
	DeferCleanup(stop)
	Expect(mgr.GetCache().WaitForCacheSync(ctx)).To(BeTrue())
	return stop
}

// gateOn turns the link to the report endpoint on.
func gateOn(c *trainjob.Config) {
	c.ReportLink = true
	c.ServiceHost = "kubeflow-trainer-controller-manager." + operatorNamespace + ".svc"
	c.StatusPort = 10443
	c.CertSecret = certSecret
}
