// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	componentconfigv1alpha1 "k8s.io/component-base/config/v1alpha1"
)

// defaults is what an empty file means.
func defaults() *Configuration {
	return &Configuration{
		Webhook: ControllerWebhook{Port: new(int32(9443))},
		Metrics: ControllerMetrics{BindAddress: ":8443", SecureServing: new(true)},
		Health: ControllerHealth{
			HealthProbeBindAddress: ":8081",
			ReadinessEndpointName:  "readyz",
			LivenessEndpointName:   "healthz",
		},
		CertManagement: &CertManagement{
			Enable:             new(true),
			WebhookServiceName: "kubeflow-trainer-controller-manager",
			WebhookSecretName:  "kubeflow-trainer-webhook-cert",
		},
		ClientConnection: &ClientConnection{QPS: new(float32(50)), Burst: new(int32(100))},
		StatusServer:     &StatusServer{Port: new(int32(10443)), QPS: new(float32(50)), Burst: new(int32(100))},
	}
}

// set is a configuration in which no default applies.
func set() *Configuration {
	return &Configuration{
		Webhook: ControllerWebhook{Port: new(int32(1)), Host: new("localhost")},
		LeaderElection: &componentconfigv1alpha1.LeaderElectionConfiguration{
			LeaderElect: new(true), LeaseDuration: metav1.Duration{Duration: 1},
		},
		Metrics: ControllerMetrics{BindAddress: "0", SecureServing: new(false), Auth: &MetricsAuth{Enabled: new(true)}},
		Health: ControllerHealth{
			HealthProbeBindAddress: "0",
			ReadinessEndpointName:  "ready",
			LivenessEndpointName:   "live",
		},
		Controller:       &ControllerConfigurationSpec{GroupKindConcurrency: map[string]int32{"TrainJob.trainer.kubeflow.org": 5}},
		CertManagement:   &CertManagement{Enable: new(false), WebhookServiceName: "service", WebhookSecretName: "secret"},
		ClientConnection: &ClientConnection{QPS: new(float32(0)), Burst: new(int32(0))},
		StatusServer:     &StatusServer{Port: new(int32(2)), QPS: new(float32(0)), Burst: new(int32(0))},
		FeatureGates:     map[string]bool{"TrainJobStatus": true},
		TLS:              &TLSOptions{MinVersion: TLSVersion13},
	}
}

func TestSetDefaults(t *testing.T) {
	cases := map[string]struct {
		cfg  *Configuration
		want *Configuration
	}{
		"an empty configuration gets every default": {
			cfg:  &Configuration{},
			want: defaults(),
		},
		"an empty section gets the defaults of its fields": {
			cfg: &Configuration{
				CertManagement:   &CertManagement{},
				ClientConnection: &ClientConnection{},
				StatusServer:     &StatusServer{},
			},
			want: defaults(),
		},
		"values that are set are kept, zeros and false included": {
			cfg:  set(),
			want: set(),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := AddToScheme(scheme); err != nil {
				t.Fatalf("AddToScheme() error = %v", err)
			}
			scheme.Default(tc.cfg)
			if diff := cmp.Diff(tc.want, tc.cfg); diff != "" {
				t.Errorf("configuration after defaulting (-want +got):\n%s", diff)
			}
		})
	}
}
