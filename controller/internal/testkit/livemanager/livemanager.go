// SPDX-License-Identifier: Apache-2.0

// Package livemanager runs the whole manager inside a test, against a real API
// server, and reaches its report endpoint as a training pod does.
//
// It owns ports, the configuration file and the trust in the certificate. It
// does not own the API server.
package livemanager

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/milepost-dev/milepost/controller/internal/config"
	"github.com/milepost-dev/milepost/controller/internal/features"
	"github.com/milepost-dev/milepost/controller/internal/manager"
	"github.com/milepost-dev/milepost/controller/internal/reportlink"
)

const (
	// Namespace is where the manager believes to run.
	Namespace = "kubeflow-system"
	service   = "kubeflow-trainer-controller-manager"
	secret    = "kubeflow-trainer-webhook-cert"
	caKey     = "ca.crt"
	gate      = "TrainJobStatus=true"

	startLimit = 60 * time.Second
	poll       = 50 * time.Millisecond
)

// Options of a manager in a test.
type Options struct {
	// QPS and Burst are statusServer.qps and burst; 0 leaves the default.
	QPS, Burst int
	// Log receives what the manager logs.
	Log logr.Logger
	// Folder is for the configuration file.
	Folder string
}

// Manager is a running manager.
type Manager struct {
	client client.Client
	status int
	probes int

	metrics int
	stop    context.CancelFunc
	ended   chan error
}

// Prepare makes the namespace of the manager and the Secret that its chart would
// make. It is called once per API server.
func Prepare(ctx context.Context, c client.Client) error {
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: secret}},
	} {
		if err := c.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating %T: %w", object, err)
		}
	}
	return nil
}

// Start runs a manager and returns when it is ready.
func Start(ctx context.Context, cluster *rest.Config, c client.Client, opts Options) (*Manager, error) {
	ports, err := freePorts(ctx, 4)
	if err != nil {
		return nil, err
	}
	m := &Manager{client: c, status: ports[0], probes: ports[1], metrics: ports[2], ended: make(chan error, 1)}
	file := filepath.Join(opts.Folder, fmt.Sprintf("config-%d.yaml", m.status))
	if err := os.WriteFile(file, m.config(opts, ports[3]), 0o600); err != nil {
		return nil, fmt.Errorf("writing the configuration: %w", err)
	}
	cfg, err := config.Load(file)
	if err != nil {
		return nil, err
	}
	gates, err := features.Resolve(cfg.FeatureGates, gate)
	if err != nil {
		return nil, err
	}
	ctx, m.stop = context.WithCancel(ctx)
	go func() {
		m.ended <- manager.Run(ctx, manager.Options{Config: cfg, Gates: gates, Cluster: rest.CopyConfig(cluster), Version: "test", Log: opts.Log})
	}()
	return m, m.awaitReady(ctx)
}

func (m *Manager) config(opts Options, webhook int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
health: {healthProbeBindAddress: "127.0.0.1:%d"}
metrics: {bindAddress: "127.0.0.1:%d", secureServing: false}
webhook: {host: 127.0.0.1, port: %d}
controller: {groupKindConcurrency: {}}
leaderElection: {leaderElect: false}
statusServer:
  port: %d
`, m.probes, m.metrics, webhook, m.status)
	if opts.QPS > 0 {
		fmt.Fprintf(&b, "  qps: %d\n  burst: %d\n", opts.QPS, opts.Burst)
	}
	return b.Bytes()
}

func (m *Manager) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	var last error
	for {
		if last = m.probe(ctx, "readyz"); last == nil {
			return nil
		}
		select {
		case <-tick.C:
		case err := <-m.ended:
			m.ended <- err
			return fmt.Errorf("the manager ended before it was ready: %w", err)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), last)
		}
	}
}

func (m *Manager) probe(ctx context.Context, name string) error {
	body, err := get(ctx, fmt.Sprintf("http://127.0.0.1:%d/%s", m.probes, name))
	if err != nil {
		return fmt.Errorf("probing %s: %w: %s", name, err, body)
	}
	return nil
}

// Metrics returns the page of metrics.
func (m *Manager) Metrics(ctx context.Context) (string, error) {
	body, err := get(ctx, fmt.Sprintf("http://127.0.0.1:%d/metrics", m.metrics))
	return string(body), err
}

func get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	return body, err
}

// Stop ends the manager and returns what it ended with.
func (m *Manager) Stop() error {
	m.stop()
	return <-m.ended
}

// Address is where the report endpoint listens.
func (m *Manager) Address() string { return net.JoinHostPort("127.0.0.1", fmt.Sprint(m.status)) }

// URL is the address of a TrainJob's status.
func (m *Manager) URL(namespace, name string) string {
	return "https://" + m.Address() + reportlink.Path(namespace, name)
}

// TLS trusts the certificate as a training pod does: by the CA that its
// ConfigMap holds, under the name of the Service.
func (m *Manager) TLS(ctx context.Context) (*tls.Config, error) {
	var held corev1.Secret
	if err := m.client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: secret}, &held); err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(held.Data[caKey]) {
		return nil, errors.New("the Secret holds no CA")
	}
	return &tls.Config{RootCAs: pool, ServerName: reportlink.ServiceHost(service, Namespace), MinVersion: tls.VersionTLS12}, nil
}

func freePorts(ctx context.Context, n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("looking for a free port: %w", err)
		}
		// Kept open until all are found, so that no port is found twice.
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
