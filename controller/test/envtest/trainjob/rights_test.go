// SPDX-License-Identifier: Apache-2.0

package trainjob_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/testkit/builders"
)

var marker = regexp.MustCompile(`(?m)^// \+kubebuilder:rbac:groups=(\S*?),resources=(\S+?),verbs=(\S+)$`)

// declaredRights are those in the markers of the code, which the chart follows.
func declaredRights() []rbacv1.PolicyRule {
	GinkgoHelper()
	files, err := filepath.Glob("../../../internal/trainjob/*.go")
	Expect(err).NotTo(HaveOccurred())
	var rules []rbacv1.PolicyRule
	for _, file := range files {
		text, err := os.ReadFile(file)
		Expect(err).NotTo(HaveOccurred())
		for _, found := range marker.FindAllStringSubmatch(string(text), -1) {
			rules = append(rules, rbacv1.PolicyRule{
				APIGroups: []string{strings.Trim(found[1], `"`)},
				Resources: strings.Split(found[2], ";"),
				Verbs:     strings.Split(found[3], ";"),
			})
		}
	}
	Expect(len(rules)).To(BeNumerically(">", 5))
	return rules
}

var _ = Describe("The rights of the controller", func() {
	It("are enough for all it does", func(ctx SpecContext) {
		const user = "manager"
		subject := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
		everywhere := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: declaredRights()}
		bound := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user}, Subjects: subject,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		}
		one := &rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Namespace: certSecret.Namespace, Name: user},
			Rules: []rbacv1.PolicyRule{{
				APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{certSecret.Name}, Verbs: []string{"get", "list", "watch"},
			}},
		}
		boundOne := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: certSecret.Namespace, Name: user}, Subjects: subject,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		}
		Expect(apiServer.Create(ctx, everywhere)).To(Succeed())
		Expect(apiServer.Create(ctx, bound)).To(Succeed())
		Expect(apiServer.Create(ctx, one)).To(Succeed())
		Expect(apiServer.Create(ctx, boundOne)).To(Succeed())
		restricted, err := cluster.ConfigFor(user, "system:authenticated")
		Expect(err).NotTo(HaveOccurred())

		createSecret(ctx, "ca")
		startControllerAs(restricted, gateOn)
		namespace := newNamespace(ctx)
		createRuntime(ctx, namespace, builders.MakeRuntime("runtime").Torch())
		job := createJob(ctx, builders.MakeTrainJob(namespace, "limited").Deadline(6))
		jobSetOf(ctx, job)
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateCreated))
		Expect(get(ctx, namespace, "limited-tls-config", &corev1.ConfigMap{}).Data).To(HaveKeyWithValue("ca.crt", "ca"))
		editJob(ctx, job, func(j *trainer.TrainJob) { *j.Spec.Suspend = true })
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateSuspended))
		Eventually(func() *bool { return jobSetOf(ctx, job).Spec.Suspend }).Should(HaveValue(BeTrue()))
		editJob(ctx, job, func(j *trainer.TrainJob) { *j.Spec.Suspend = false })
		Eventually(stateOf(ctx, job)).Should(Equal(trainer.TrainJobStateFailed))
		Eventually(func() bool {
			return apierrors.IsNotFound(apiServer.Get(ctx, key(job), &jobsetv1alpha2.JobSet{}))
		}).Should(BeTrue())
		Eventually(eventsOf(ctx, job)).Should(HaveExactElements("Warning DeadlineExceeded: TrainJob exceeded its active deadline"))
	})
})
