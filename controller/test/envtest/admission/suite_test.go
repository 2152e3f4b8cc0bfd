// SPDX-License-Identifier: Apache-2.0

// Package admission_test sends TrainJobs and runtimes through a real API server
// that asks our webhooks, and checks against the real webhook of JobSet that what
// is taken here is taken there.
package admission_test

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
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/admission"
	"github.com/milepost-dev/milepost/controller/internal/testkit/envtest"
	"github.com/milepost-dev/milepost/controller/internal/testkit/jobsetadmission"
	"github.com/milepost-dev/milepost/controller/internal/testkit/leaks"
	"github.com/milepost-dev/milepost/controller/internal/trainjob"
)

var (
	cluster   *envtest.Cluster
	apiServer client.Client
	endSuite  context.CancelFunc
)

func TestMain(m *testing.M) { os.Exit(leaks.Check(m.Run())) }

func TestAdmission(t *testing.T) {
	envtest.Require(t)
	RegisterFailHandler(Fail)
	RunSpecs(t, "Admission")
}

var _ = BeforeSuite(func() {
	ctrl.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	SetDefaultEventuallyTimeout(15 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)

	var ctx context.Context
	ctx, endSuite = context.WithCancel(context.Background())
	var err error
	cluster, err = envtest.Start(ctx, envtest.Options{
		Mutating:   []*admissionregistrationv1.MutatingWebhookConfiguration{mutating(), jobsetadmission.Mutating()},
		Validating: []*admissionregistrationv1.ValidatingWebhookConfiguration{validating(), jobsetadmission.Validating()},
	})
	Expect(err).NotTo(HaveOccurred())
	apiServer, err = client.New(cluster.Config, client.Options{Scheme: cluster.Scheme})
	Expect(err).NotTo(HaveOccurred())

	mgr, err := ctrl.NewManager(cluster.Config, ctrl.Options{
		Scheme:        cluster.Scheme,
		Metrics:       metricsserver.Options{BindAddress: "0"},
		WebhookServer: cluster.WebhookServer(),
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(admission.SetupWithManager(mgr)).To(Succeed())
	Expect(jobsetadmission.SetupWithManager(mgr)).To(Succeed())
	Expect(trainjob.SetupWithManager(mgr, trainjob.Config{MaxConcurrentReconciles: 2, Clock: clock.RealClock{}})).To(Succeed())
	go func() {
		defer GinkgoRecover()
		Expect(mgr.Start(ctx)).To(Succeed())
	}()
	Eventually(func() error { return mgr.GetWebhookServer().StartedChecker()(nil) }).Should(Succeed())
})

var _ = AfterSuite(func() {
	if endSuite != nil {
		endSuite()
	}
	if cluster != nil {
		Expect(cluster.Stop()).To(Succeed())
	}
})

func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "admission-"}}
	Expect(apiServer.Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}

func mutating() *admissionregistrationv1.MutatingWebhookConfiguration {
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "defaulter.trainer.kubeflow.org"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:                    "defaulter.trainjob.trainer.kubeflow.org",
			AdmissionReviewVersions: []string{"v1"},
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			ClientConfig:            clientConfig(admission.PathMutateTrainJob),
			Rules:                   rules("trainjobs"),
		}},
	}
}

func validating() *admissionregistrationv1.ValidatingWebhookConfiguration {
	out := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "validator.trainer.kubeflow.org"}}
	for _, hook := range []struct{ kind, path, resource string }{
		{"trainjob", admission.PathValidateTrainJob, "trainjobs"},
		{"trainingruntime", admission.PathValidateTrainingRuntime, "trainingruntimes"},
		{"clustertrainingruntime", admission.PathValidateClusterTrainingRuntime, "clustertrainingruntimes"},
	} {
		out.Webhooks = append(out.Webhooks, admissionregistrationv1.ValidatingWebhook{
			Name:                    "validator." + hook.kind + ".trainer.kubeflow.org",
			AdmissionReviewVersions: []string{"v1"},
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			ClientConfig:            clientConfig(hook.path),
			Rules:                   rules(hook.resource),
		})
	}
	return out
}

func clientConfig(path string) admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{
		Service: &admissionregistrationv1.ServiceReference{Namespace: "kubeflow-system", Name: "webhook", Path: &path},
	}
}

func rules(resource string) []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{trainer.GroupName}, APIVersions: []string{"v1alpha1"}, Resources: []string{resource},
		},
	}}
}
