// SPDX-License-Identifier: Apache-2.0

// Package jobsetadmission gives a test API server the real webhooks of JobSet, so
// that suites see what JobSet defaults and what it refuses.
//
// It does not run the controller of JobSet: suites set the status of a JobSet
// themselves.
package jobsetadmission

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	jobsetwebhooks "sigs.k8s.io/jobset/pkg/webhooks"
)

const (
	mutatePath   = "/mutate-jobset-x-k8s-io-v1alpha2-jobset"
	validatePath = "/validate-jobset-x-k8s-io-v1alpha2-jobset"
)

// Mutating is what makes the API server ask for defaults.
func Mutating() *admissionregistrationv1.MutatingWebhookConfiguration {
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "jobset-mutating"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:                    "mjobset.kb.io",
			AdmissionReviewVersions: []string{"v1"},
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			ClientConfig:            clientConfig(mutatePath),
			Rules:                   rules(admissionregistrationv1.Create),
		}},
	}
}

// Validating is what makes the API server ask for a verdict.
func Validating() *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "jobset-validating"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "vjobset.kb.io",
			AdmissionReviewVersions: []string{"v1"},
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			ClientConfig:            clientConfig(validatePath),
			Rules:                   rules(admissionregistrationv1.Create, admissionregistrationv1.Update),
		}},
	}
}

// SetupWithManager serves the webhooks from the webhook server of a manager.
func SetupWithManager(mgr ctrl.Manager) error {
	if err := jobsetwebhooks.Setup(mgr); err != nil {
		return fmt.Errorf("setting up the webhooks of JobSet: %w", err)
	}
	return nil
}

func clientConfig(path string) admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{
		Service: &admissionregistrationv1.ServiceReference{Namespace: "jobset-system", Name: "webhook", Path: &path},
	}
}

func rules(operations ...admissionregistrationv1.OperationType) []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: operations,
		Rule: admissionregistrationv1.Rule{
			APIGroups:   []string{jobsetv1alpha2.GroupVersion.Group},
			APIVersions: []string{jobsetv1alpha2.GroupVersion.Version},
			Resources:   []string{"jobsets"},
		},
	}}
}
