// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"crypto/tls"
	"net"
	"strconv"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	configapi "github.com/milepost-dev/milepost/controller/api/config/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/config"
)

// getCertificate answers a handshake with the certificate of the moment.
type getCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// managerOptions translates the configuration file into options of the controller manager.
// Webhook and metrics are served with the same certificate as the status endpoint.
func managerOptions(cfg *configapi.Configuration, namespace string, certificate getCertificate) ctrl.Options {
	serve := func(c *tls.Config) {
		config.ApplyTLS(c, cfg.TLS)
		c.GetCertificate = certificate
	}
	options := ctrl.Options{
		HealthProbeBindAddress: cfg.Health.HealthProbeBindAddress,
		ReadinessEndpointName:  "/" + cfg.Health.ReadinessEndpointName,
		LivenessEndpointName:   "/" + cfg.Health.LivenessEndpointName,
		Metrics: metricsserver.Options{
			BindAddress:   cfg.Metrics.BindAddress,
			SecureServing: cfg.Metrics.SecureServing == nil || *cfg.Metrics.SecureServing,
			TLSOpts:       []func(*tls.Config){serve},
		},
		WebhookServer: webhook.NewServer(webhookOptions(cfg.Webhook, serve)),
	}
	if auth := cfg.Metrics.Auth; auth != nil && auth.Enabled != nil && *auth.Enabled {
		options.Metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	applyLeaderElection(&options, cfg, namespace)
	if c := cfg.Controller; c != nil {
		options.Controller = ctrlconfig.Controller{GroupKindConcurrency: map[string]int{}}
		for kind, n := range c.GroupKindConcurrency {
			options.Controller.GroupKindConcurrency[kind] = int(n)
		}
	}
	return options
}

func webhookOptions(cfg configapi.ControllerWebhook, serve func(*tls.Config)) webhook.Options {
	options := webhook.Options{TLSOpts: []func(*tls.Config){serve}}
	if cfg.Port != nil {
		options.Port = int(*cfg.Port)
	}
	if cfg.Host != nil {
		options.Host = *cfg.Host
	}
	return options
}

func applyLeaderElection(options *ctrl.Options, cfg *configapi.Configuration, namespace string) {
	election := cfg.LeaderElection
	if election == nil {
		return
	}
	options.LeaderElection = election.LeaderElect != nil && *election.LeaderElect
	// The next leader takes over at once on a graceful stop instead of waiting for the lease to
	// run out. It is safe here: the process ends right after the manager does.
	options.LeaderElectionReleaseOnCancel = true
	options.LeaderElectionResourceLock = election.ResourceLock
	options.LeaderElectionID = election.ResourceName
	options.LeaderElectionNamespace = election.ResourceNamespace
	if options.LeaderElectionNamespace == "" {
		options.LeaderElectionNamespace = namespace
	}
	if d := election.LeaseDuration.Duration; d > 0 {
		options.LeaseDuration = &d
	}
	if d := election.RenewDeadline.Duration; d > 0 {
		options.RenewDeadline = &d
	}
	if d := election.RetryPeriod.Duration; d > 0 {
		options.RetryPeriod = &d
	}
}

// applyClientConnection sets the client-side rate limit of everything but status writes, which
// have a budget of their own.
func applyClientConnection(cluster *rest.Config, cfg *configapi.ClientConnection) {
	if cfg == nil {
		return
	}
	if cfg.QPS != nil {
		cluster.QPS = *cfg.QPS
	}
	if cfg.Burst != nil {
		cluster.Burst = int(*cfg.Burst)
	}
}

func statusAddress(cfg *configapi.StatusServer) string {
	return net.JoinHostPort("", strconv.Itoa(int(*cfg.Port)))
}
