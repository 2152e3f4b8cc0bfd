// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// maxReleaseSize leaves room below the 1 MiB that a Secret may hold.
const maxReleaseSize = 700 << 10

// The life of a release, also for users who change from Helm 3 to Helm 4 on the way.
func TestAReleaseIsInstalledUpgradedAndRemoved(t *testing.T) {
	three, four := findHelm(t, "helm3"), findHelm(t, "helm4")
	s := startServer(t)
	s.createNamespace(t, nil)
	for situation, tc := range map[string]struct{ install, upgrade, uninstall helm }{
		"with Helm 3":              {three, three, three},
		"with Helm 4":              {four, four, four},
		"with Helm 3, then Helm 4": {three, four, four},
	} {
		t.Run(situation, func(t *testing.T) {
			before, err := s.objects(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s.helm(t, tc.install, "install", release, chartPath, "--set", "runtimes.defaultEnabled=true")
			s.wantSmallReleases(t)

			ours, jobSets := s.fill(t, "kubeflow-trainer-webhook-cert", "trainer-certificates"), s.fill(t, "jobset-webhook-server-cert", "manager")
			s.injectCA(t)
			s.helm(t, tc.upgrade, "upgrade", release, chartPath,
				"--set", "runtimes.torchDistributed.enabled=true", "--set", "manager.config.statusServer.port=11443")

			s.wantSecret(t, ours)
			s.wantSecret(t, jobSets)
			s.wantCA(t)
			s.wantPort(t, 11443)

			s.helm(t, tc.uninstall, "uninstall", release)
			var left string
			err = poll(t, func(ctx context.Context) (bool, error) {
				after, err := s.objects(ctx)
				if err != nil {
					return false, nil //nolint:nilerr // kinds that are going away answer with errors
				}
				left = cmp.Diff(before, after)
				return left == "", nil
			})
			if err != nil {
				t.Errorf("what the release leaves behind (-before +after):\n%s", left)
			}
		})
	}
}

func TestCRDsAndTrainJobsOutliveAReleaseThatKeepsThem(t *testing.T) {
	eachHelm(t, func(t *testing.T, h helm) {
		s := startServer(t)
		s.createNamespace(t, nil)
		s.helm(t, h, "install", release, chartPath, "--set", "crds.keep=true,jobset.install=false")
		s.wantServed(t)
		s.helm(t, h, "uninstall", release)
		s.wantServed(t)
		s.helm(t, h, "install", release, chartPath, "--set", "crds.keep=true,jobset.install=false")
	})
}

// wantServed waits until the API server serves our CRDs.
func (s *server) wantServed(t *testing.T) {
	t.Helper()
	eventually(t, "the CRDs are served", func(context.Context) (bool, error) {
		found, err := s.discovery.ServerResourcesForGroupVersion(trainer.GroupVersion.String())
		return err == nil && len(found.APIResources) >= 3, nil
	})
}

// fill puts keys into a Secret as the controller does that owns them.
func (s *server) fill(t *testing.T, name, owner string) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	s.mustGet(t, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	for key, value := range secret.Data {
		if len(value) > 0 {
			t.Errorf("Secret %s is installed with a value of %s: %q", name, key, value)
		}
	}
	secret.Data = map[string][]byte{}
	for _, key := range []string{"ca.crt", "ca.key", "tls.crt", "tls.key"} {
		secret.Data[key] = fmt.Appendf(nil, "%s of %s", key, name)
	}
	if err := s.client.Update(t.Context(), secret, client.FieldOwner(owner)); err != nil {
		t.Fatal(err)
	}
	return secret
}

func (s *server) wantSecret(t *testing.T, want *corev1.Secret) {
	t.Helper()
	got := &corev1.Secret{}
	s.mustGet(t, client.ObjectKeyFromObject(want), got)
	if diff := cmp.Diff(want.Data, got.Data); diff != "" {
		t.Errorf("Secret %s after the upgrade (-before +after):\n%s", want.Name, diff)
	}
}

var bundle = []byte("-----BEGIN CERTIFICATE-----\n")

func (s *server) injectCA(t *testing.T) {
	t.Helper()
	for configuration, configs := range s.webhooks(t) {
		before := configuration.DeepCopyObject().(client.Object)
		for _, config := range configs {
			config.CABundle = bundle
		}
		if err := s.client.Patch(t.Context(), configuration, client.MergeFrom(before), client.FieldOwner("trainer-certificates")); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *server) wantCA(t *testing.T) {
	t.Helper()
	for configuration, configs := range s.webhooks(t) {
		for _, config := range configs {
			if !bytes.Equal(config.CABundle, bundle) {
				t.Errorf("%s has lost the CA of %s in the upgrade", configuration.GetName(), *config.Service.Path)
			}
		}
	}
}

// webhooks reads our webhook configurations.
func (s *server) webhooks(t *testing.T) map[client.Object][]*admissionregistrationv1.WebhookClientConfig {
	t.Helper()
	validating, mutating := &admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{}
	s.mustGet(t, client.ObjectKey{Name: "validator.trainer.kubeflow.org"}, validating)
	s.mustGet(t, client.ObjectKey{Name: "defaulter.trainer.kubeflow.org"}, mutating)
	found := map[client.Object][]*admissionregistrationv1.WebhookClientConfig{}
	for i := range validating.Webhooks {
		found[validating] = append(found[validating], &validating.Webhooks[i].ClientConfig)
	}
	for i := range mutating.Webhooks {
		found[mutating] = append(found[mutating], &mutating.Webhooks[i].ClientConfig)
	}
	return found
}

func (s *server) wantPort(t *testing.T, want int32) {
	t.Helper()
	service := &corev1.Service{}
	s.mustGet(t, client.ObjectKey{Namespace: namespace, Name: managerName}, service)
	if !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == want }) {
		t.Errorf("Service has ports %v, want %d among them", service.Spec.Ports, want)
	}
}

// wantSmallReleases looks at the Secrets in which Helm keeps its releases.
func (s *server) wantSmallReleases(t *testing.T) {
	t.Helper()
	secrets := &corev1.SecretList{}
	if err := s.client.List(t.Context(), secrets, client.InNamespace(namespace), client.MatchingLabels{"owner": "helm"}); err != nil {
		t.Fatal(err)
	}
	if len(secrets.Items) == 0 {
		t.Error("no release is stored")
	}
	for _, secret := range secrets.Items {
		if size := len(secret.Data["release"]); size > maxReleaseSize {
			t.Errorf("release %s has %d bytes, more than %d", secret.Name, size, maxReleaseSize)
		}
	}
}

func (s *server) mustGet(t *testing.T, key client.ObjectKey, into client.Object) {
	t.Helper()
	if err := s.client.Get(t.Context(), key, into); err != nil {
		t.Fatal(err)
	}
}
