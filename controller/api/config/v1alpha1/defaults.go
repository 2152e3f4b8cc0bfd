// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime"
)

// Values that a field has when the file leaves it out.
const (
	DefaultWebhookPort            int32   = 9443
	DefaultMetricsBindAddress     string  = ":8443"
	DefaultHealthProbeBindAddress string  = ":8081"
	DefaultReadinessEndpointName  string  = "readyz"
	DefaultLivenessEndpointName   string  = "healthz"
	DefaultWebhookServiceName     string  = "kubeflow-trainer-controller-manager"
	DefaultWebhookSecretName      string  = "kubeflow-trainer-webhook-cert"
	DefaultClientQPS              float32 = 50
	DefaultClientBurst            int32   = 100
	DefaultStatusServerPort       int32   = 10443
	DefaultStatusServerQPS        float32 = 50
	DefaultStatusServerBurst      int32   = 100
)

// RegisterDefaults makes decoding with the scheme fill in defaults.
func RegisterDefaults(scheme *runtime.Scheme) error {
	scheme.AddTypeDefaultingFunc(&Configuration{}, func(obj any) {
		if cfg, ok := obj.(*Configuration); ok {
			SetDefaults_Configuration(cfg)
		}
	})
	return nil
}

// SetDefaults_Configuration fills in what the file leaves out. A value that is there is kept,
// zero numbers included. leaderElection and tls stay absent when they are absent.
func SetDefaults_Configuration(cfg *Configuration) {
	defaultTo(&cfg.Webhook.Port, DefaultWebhookPort)
	defaultText(&cfg.Metrics.BindAddress, DefaultMetricsBindAddress)
	defaultTo(&cfg.Metrics.SecureServing, true)
	defaultText(&cfg.Health.HealthProbeBindAddress, DefaultHealthProbeBindAddress)
	defaultText(&cfg.Health.ReadinessEndpointName, DefaultReadinessEndpointName)
	defaultText(&cfg.Health.LivenessEndpointName, DefaultLivenessEndpointName)

	defaultTo(&cfg.CertManagement, CertManagement{})
	defaultTo(&cfg.CertManagement.Enable, true)
	defaultText(&cfg.CertManagement.WebhookServiceName, DefaultWebhookServiceName)
	defaultText(&cfg.CertManagement.WebhookSecretName, DefaultWebhookSecretName)

	defaultTo(&cfg.ClientConnection, ClientConnection{})
	defaultTo(&cfg.ClientConnection.QPS, DefaultClientQPS)
	defaultTo(&cfg.ClientConnection.Burst, DefaultClientBurst)

	defaultTo(&cfg.StatusServer, StatusServer{})
	defaultTo(&cfg.StatusServer.Port, DefaultStatusServerPort)
	defaultTo(&cfg.StatusServer.QPS, DefaultStatusServerQPS)
	defaultTo(&cfg.StatusServer.Burst, DefaultStatusServerBurst)
}

func defaultTo[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

func defaultText(field *string, value string) {
	if *field == "" {
		*field = value
	}
}
