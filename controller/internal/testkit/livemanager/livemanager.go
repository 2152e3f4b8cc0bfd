// SPDX-License-Identifier: Apache-2.0

// Package livemanager runs the manager as a process of its own, against a real
// API server, and reaches its report endpoint as a training pod does.
//
// It owns the build, ports, the configuration file, signals and the trust in the
// certificate. It does not own the API server.
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
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	// Program is what Build returned.
	Program string
	// Folder is for the configuration file and the kubeconfig.
	Folder string
	// QPS and Burst are statusServer.qps and burst; 0 leaves the default.
	QPS, Burst int
	// LeaderElect makes the job flow run on one manager at a time, as in a cluster.
	LeaderElect bool
	// NextProtos is tls.nextProtos; empty leaves the default.
	NextProtos []string
	// Log receives what the manager logs; nil drops it.
	Log io.Writer
}

// Manager is a running manager.
type Manager struct {
	client  client.Client
	command *exec.Cmd
	// configFile, kubeconfig and opts are what the process was started with.
	configFile, kubeconfig string
	opts                   Options

	status, probes, metrics int

	ended chan struct{}
	err   error
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
	m := &Manager{client: c, opts: opts, status: ports[0], probes: ports[1], metrics: ports[2]}
	m.configFile = filepath.Join(opts.Folder, fmt.Sprintf("config-%d.yaml", m.status))
	if err := os.WriteFile(m.configFile, m.config(opts, ports[3]), 0o600); err != nil {
		return nil, fmt.Errorf("writing the configuration: %w", err)
	}
	m.kubeconfig = filepath.Join(opts.Folder, fmt.Sprintf("kubeconfig-%d.yaml", m.status))
	if err := writeKubeconfig(m.kubeconfig, cluster); err != nil {
		return nil, err
	}
	if err := m.Launch(); err != nil {
		return nil, err
	}
	if err := m.AwaitReady(ctx); err != nil {
		return nil, errors.Join(err, m.Kill())
	}
	return m, nil
}

// Launch starts the process and does not wait. Start does so; after Kill or Stop
// it runs the manager again under the same addresses.
func (m *Manager) Launch() error {
	// The process outlives every context: its end is what tests are about.
	command := exec.Command(m.opts.Program, "--config", m.configFile, "--feature-gates", gate) //nolint:gosec // what Build built
	command.Env = append(append(os.Environ(), raceEnv()...), "KUBECONFIG="+m.kubeconfig, "POD_NAMESPACE="+Namespace)
	command.Stdout, command.Stderr = m.opts.Log, m.opts.Log
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting the manager: %w", err)
	}
	ended := make(chan struct{})
	m.command, m.ended, m.err = command, ended, nil
	go func() {
		m.err = command.Wait()
		close(ended)
	}()
	return nil
}

func writeKubeconfig(path string, cluster *rest.Config) error {
	const name = "test"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: cluster.Host, CertificateAuthorityData: cluster.CAData}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: cluster.CertData, ClientKeyData: cluster.KeyData, Token: cluster.BearerToken,
	}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return nil
}

func (m *Manager) config(opts Options, webhook int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
health: {healthProbeBindAddress: "127.0.0.1:%d"}
metrics: {bindAddress: "127.0.0.1:%d", secureServing: false}
webhook: {host: 127.0.0.1, port: %d}
controller: {groupKindConcurrency: {}}
leaderElection: {leaderElect: %t, resourceName: trainer.kubeflow.org}
statusServer:
  port: %d
`, m.probes, m.metrics, webhook, opts.LeaderElect, m.status)
	if opts.QPS > 0 {
		fmt.Fprintf(&b, "  qps: %d\n  burst: %d\n", opts.QPS, opts.Burst)
	}
	if len(opts.NextProtos) > 0 {
		fmt.Fprintf(&b, "tls: {nextProtos: [%s]}\n", strings.Join(opts.NextProtos, ", "))
	}
	return b.Bytes()
}

// AwaitReady waits until the readiness probe succeeds.
func (m *Manager) AwaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		last := m.Probe(ctx, "readyz")
		if last == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-m.ended:
			return fmt.Errorf("the manager ended before it was ready: %w", m.err)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), last)
		}
	}
}

// Probe asks readyz or healthz.
func (m *Manager) Probe(ctx context.Context, name string) error {
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

// Stop asks the manager to end, as kubelet does, and returns when it has. The
// error is that of a manager that does not end well.
func (m *Manager) Stop() error {
	if err := m.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	<-m.ended
	if m.err != nil {
		return errors.Join(fmt.Errorf("the manager ends with: %w", m.err), checkRace(m.err, m.opts.Log))
	}
	return nil
}

// Kill ends the manager without a word and returns when it is gone. The error of
// one that a data race ended before says so.
func (m *Manager) Kill() error {
	err := m.Signal(syscall.SIGKILL)
	<-m.ended
	return errors.Join(err, checkRace(m.err, m.opts.Log))
}

// Signal sends a signal. A manager that has ended already is no error.
func (m *Manager) Signal(signal os.Signal) error {
	if err := m.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signalling the manager: %w", err)
	}
	return nil
}

// PID is the process id.
func (m *Manager) PID() int { return m.command.Process.Pid }

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
