// SPDX-License-Identifier: Apache-2.0

// Package servingcert_test runs the keeper of the serving certificate against a real API server, with no more rights than the
// chart grants: one Secret and two webhook configurations, each by its name.
package servingcert_test

import (
	"context"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/milepost-dev/milepost/controller/internal/testkit/envtest"
	"github.com/milepost-dev/milepost/controller/internal/testkit/leaks"
)

const (
	namespace  = "kubeflow-system"
	secretName = "kubeflow-trainer-webhook-cert"
	validator  = "validator.trainer.kubeflow.org"
	defaulter  = "defaulter.trainer.kubeflow.org"
	user       = "manager"
)

var (
	cluster *envtest.Cluster
	// admin may do everything, restricted what the manager may.
	admin, restricted client.WithWatch
)

func TestMain(m *testing.M) { os.Exit(leaks.Check(m.Run())) }

func TestServingCertificate(t *testing.T) {
	envtest.Require(t)
	RegisterFailHandler(Fail)
	RunSpecs(t, "serving certificate")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	SetDefaultEventuallyTimeout(15 * time.Second)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	var err error
	cluster, err = envtest.Start(ctx, envtest.Options{WithoutJobSet: true})
	Expect(err).NotTo(HaveOccurred())
	admin, err = client.NewWithWatch(cluster.Config, client.Options{Scheme: cluster.Scheme})
	Expect(err).NotTo(HaveOccurred())
	Expect(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
	grantRights(ctx)
	config, err := cluster.ConfigFor(user, "system:authenticated")
	Expect(err).NotTo(HaveOccurred())
	restricted, err = client.NewWithWatch(config, client.Options{Scheme: cluster.Scheme})
	Expect(err).NotTo(HaveOccurred())
})

var _ = AfterSuite(func() {
	if cluster != nil {
		Expect(cluster.Stop()).To(Succeed())
	}
})

// grantRights gives the user the rights in the markers of the package, cut down to names as the chart does.
func grantRights(ctx context.Context) {
	GinkgoHelper()
	verbs := []string{"get", "list", "watch", "patch"}
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
	webhooks := func(resource, name string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{
			APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{resource}, ResourceNames: []string{name}, Verbs: verbs,
		}
	}
	meta := metav1.ObjectMeta{Name: user}
	local := metav1.ObjectMeta{Name: user, Namespace: namespace}
	for _, object := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			webhooks("validatingwebhookconfigurations", validator), webhooks("mutatingwebhookconfigurations", defaulter),
		}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user}},
		&rbacv1.Role{ObjectMeta: local, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{secretName}, Verbs: verbs,
		}}},
		&rbacv1.RoleBinding{ObjectMeta: local, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user}},
	} {
		Expect(admin.Create(ctx, object)).To(Succeed())
	}
}
