// SPDX-License-Identifier: Apache-2.0

package trainjob_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/milepost-dev/milepost/controller/internal/testkit/builders"
)

const refusalMessage = "no JobSets today"

// refuseJobSets makes the API server itself refuse an operation on the JobSets of
// one namespace, until the test ends or allow is called.
func refuseJobSets(ctx SpecContext, namespace string, operation admissionregistrationv1.OperationType) (allow func()) {
	GinkgoHelper()
	name := metav1.ObjectMeta{Name: "refuse-" + namespace}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: name,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
					RuleWithOperations: admissionregistrationv1.RuleWithOperations{
						Operations: []admissionregistrationv1.OperationType{operation},
						Rule: admissionregistrationv1.Rule{
							APIGroups: []string{"jobset.x-k8s.io"}, APIVersions: []string{"v1alpha2"}, Resources: []string{"jobsets"},
						},
					},
				}},
			},
			Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: refusalMessage}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: name,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        name.Name,
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			MatchResources: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}},
			},
		},
	}
	Expect(apiServer.Create(ctx, policy)).To(Succeed())
	Expect(apiServer.Create(ctx, binding)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		Expect(client.IgnoreNotFound(apiServer.Delete(ctx, binding))).To(Succeed())
		Expect(client.IgnoreNotFound(apiServer.Delete(ctx, policy))).To(Succeed())
	})
	awaitRefusal(ctx, namespace, operation)
	return func() { Expect(apiServer.Delete(ctx, binding)).To(Succeed()) }
}

// awaitRefusal returns when the policy is in force, which the API server gives no
// other sign of.
func awaitRefusal(ctx SpecContext, namespace string, operation admissionregistrationv1.OperationType) {
	GinkgoHelper()
	probe := builders.MakeJobSet(namespace, "probe").Obj()
	try := func() error { return apiServer.Create(ctx, probe.DeepCopy(), client.DryRunAll) }
	if operation == admissionregistrationv1.Delete {
		Expect(apiServer.Create(ctx, probe)).To(Succeed())
		try = func() error { return apiServer.Delete(ctx, probe, client.DryRunAll) }
	}
	Eventually(try).Should(MatchError(ContainSubstring(refusalMessage)))
}
