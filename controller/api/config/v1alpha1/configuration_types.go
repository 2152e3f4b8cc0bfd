// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	componentconfigv1alpha1 "k8s.io/component-base/config/v1alpha1"
)

// Configuration is the manager's configuration file. Every field is optional.
//
// +kubebuilder:object:root=true
type Configuration struct {
	metav1.TypeMeta `json:",inline"`

	// webhook is the admission webhook server.
	// +optional
	Webhook ControllerWebhook `json:"webhook,omitempty,omitzero"`

	// leaderElection decides whether replicas agree on one that reconciles. Absent means that
	// they do not, which is right for a single replica only.
	// +optional
	LeaderElection *componentconfigv1alpha1.LeaderElectionConfiguration `json:"leaderElection,omitempty"`

	// metrics is the metrics server.
	// +optional
	Metrics ControllerMetrics `json:"metrics,omitempty,omitzero"`

	// health is the server of the liveness and readiness probes.
	// +optional
	Health ControllerHealth `json:"health,omitempty,omitzero"`

	// controller holds what all controllers share.
	// +optional
	Controller *ControllerConfigurationSpec `json:"controller,omitempty"`

	// certManagement says where the serving certificate comes from.
	// +optional
	CertManagement *CertManagement `json:"certManagement,omitempty"`

	// clientConnection limits the requests to the API server, those of the status endpoint
	// not included.
	// +optional
	ClientConnection *ClientConnection `json:"clientConnection,omitempty"`

	// statusServer is the endpoint that takes reports from training pods. It only serves where
	// the feature gate TrainJobStatus is on.
	// +optional
	StatusServer *StatusServer `json:"statusServer,omitempty"`

	// featureGates turns features on or off by name. The flag --feature-gates counts more, name
	// by name.
	// +optional
	FeatureGates map[string]bool `json:"featureGates,omitempty"`

	// tls applies to every server of the manager that speaks TLS.
	// +optional
	TLS *TLSOptions `json:"tls,omitempty"`
}

// ControllerWebhook is the admission webhook server.
type ControllerWebhook struct {
	// port to listen on, 1 to 65535. Defaults to 9443.
	// +optional
	Port *int32 `json:"port,omitempty"`

	// host name or address to listen on. Absent or empty means all interfaces.
	// +optional
	Host *string `json:"host,omitempty"`
}

// ControllerMetrics is the metrics server.
type ControllerMetrics struct {
	// bindAddress is where to listen, as "host:port". "0" turns the server off. Defaults to ":8443".
	// +optional
	BindAddress string `json:"bindAddress,omitempty"`

	// secureServing chooses HTTPS over HTTP. Defaults to true.
	// +optional
	SecureServing *bool `json:"secureServing,omitempty"`

	// auth decides who may read the metrics. Absent means everyone.
	// +optional
	Auth *MetricsAuth `json:"auth,omitempty"`
}

// MetricsAuth decides who may read the metrics.
type MetricsAuth struct {
	// enabled lets in only callers with a valid token whom RBAC allows to get the path /metrics.
	// It needs secureServing. Defaults to false.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}

// ControllerHealth is the server of the probes.
type ControllerHealth struct {
	// healthProbeBindAddress is where to listen, as "host:port". "0" turns the server off.
	// Defaults to ":8081".
	// +optional
	HealthProbeBindAddress string `json:"healthProbeBindAddress,omitempty"`

	// readinessEndpointName is the path of the readiness probe, without the slash in front.
	// Defaults to "readyz".
	// +optional
	ReadinessEndpointName string `json:"readinessEndpointName,omitempty"`

	// livenessEndpointName is the path of the liveness probe, without the slash in front.
	// Defaults to "healthz".
	// +optional
	LivenessEndpointName string `json:"livenessEndpointName,omitempty"`
}

// ControllerConfigurationSpec holds what all controllers share.
type ControllerConfigurationSpec struct {
	// groupKindConcurrency is how many objects of a kind are reconciled at the same time, at
	// least 1. A key reads like "TrainJob.trainer.kubeflow.org". A kind that is not named has 1.
	// +optional
	GroupKindConcurrency map[string]int32 `json:"groupKindConcurrency,omitempty"`
}

// CertManagement says where the serving certificate of webhook and status endpoint comes from.
type CertManagement struct {
	// enable lets the manager issue and renew the certificate. With false the Secret must be
	// filled by someone else. Defaults to true.
	// +optional
	Enable *bool `json:"enable,omitempty"`

	// webhookServiceName is the Service that clients call; the certificate carries its host
	// name. Defaults to "kubeflow-trainer-controller-manager".
	// +optional
	WebhookServiceName string `json:"webhookServiceName,omitempty"`

	// webhookSecretName is the Secret that holds CA, certificate and keys. Defaults to
	// "kubeflow-trainer-webhook-cert".
	// +optional
	WebhookSecretName string `json:"webhookSecretName,omitempty"`
}

// ClientConnection limits the requests to the API server.
type ClientConnection struct {
	// qps is the sustained number of requests per second, at least 0. 0 means the limit that the
	// client library has by itself. Defaults to 50.
	// +optional
	QPS *float32 `json:"qps,omitempty"`

	// burst is how many requests may go out at once after a pause, at least 0. 0 means the
	// limit that the client library has by itself. Defaults to 100.
	// +optional
	Burst *int32 `json:"burst,omitempty"`
}

// StatusServer is the endpoint that takes reports from training pods.
type StatusServer struct {
	// port to listen on, 1 to 65535. The Service must send to the same port. Defaults to 10443.
	// +optional
	Port *int32 `json:"port,omitempty"`

	// qps is the sustained number of status writes per second to the API server, at least 0.
	// Absent means 50. It does not limit how many reports are taken.
	// +optional
	QPS *float32 `json:"qps,omitempty"`

	// burst is how many status writes may go out at once after a pause, at least 0. Absent means
	// 100.
	// +optional
	Burst *int32 `json:"burst,omitempty"`
}

// Values of TLSOptions.MinVersion.
const (
	TLSVersion10 = "1.0"
	TLSVersion11 = "1.1"
	TLSVersion12 = "1.2"
	TLSVersion13 = "1.3"
)

// TLSOptions applies to every server of the manager that speaks TLS.
type TLSOptions struct {
	// minVersion is the oldest TLS version that is spoken: 1.0, 1.1, 1.2 or 1.3. Defaults to 1.2.
	// +optional
	MinVersion string `json:"minVersion,omitempty"`

	// cipherSuites are the allowed suites for TLS 1.2 and older, by their IANA names. Absent
	// means the choice of Go.
	// +listType=atomic
	// +optional
	CipherSuites []string `json:"cipherSuites,omitempty"`

	// nextProtos are the protocols offered during the handshake. Absent means HTTP/1.1 alone;
	// ["h2", "http/1.1"] adds HTTP/2.
	// +listType=atomic
	// +optional
	NextProtos []string `json:"nextProtos,omitempty"`
}
