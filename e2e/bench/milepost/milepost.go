// SPDX-License-Identifier: Apache-2.0

// Package milepost runs our manager as a process beside a control plane, with the access that the
// chart gives it.
//
// It owns how the chart's objects reach the control plane and the manager's configuration. It does
// not own the build, nor what is measured.
package milepost

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/milepost-dev/milepost/e2e/bench/controlplane"
	"github.com/milepost-dev/milepost/e2e/bench/process"
	"github.com/milepost-dev/milepost/e2e/bench/subject"
)

const (
	release    = "kubeflow-trainer"
	namespace  = "kubeflow-system"
	account    = "kubeflow-trainer-controller-manager"
	secretName = "kubeflow-trainer-webhook-cert"
)

// startTimeout covers the first look at ten thousand jobs.
const startTimeout = 2 * time.Minute

// Config says where things are.
type Config struct {
	Program string // our manager
	Helm    string // helm, which renders the chart
	Root    string // of the repository
}

// Settings are what differs between scenarios; 0 keeps a default.
type Settings struct {
	ReconcileQPS int // clientConnection, per second
	Budget       int // statusServer.qps: API writes for reports, per second; the burst is twice that
}

// Milepost is the manager of one control plane.
type Milepost struct {
	config Config
	plane  *controlplane.Plane
}

// installed are the kinds of the chart that matter to a manager outside of the cluster.
var installed = map[string]bool{
	"ServiceAccount": true, "ClusterRole": true, "ClusterRoleBinding": true, "Role": true, "RoleBinding": true,
	"Secret": true, "ValidatingWebhookConfiguration": true, "MutatingWebhookConfiguration": true,
}

// Install creates the definitions and what the chart would create for the manager.
func Install(ctx context.Context, plane *controlplane.Plane, config Config) (*Milepost, error) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := plane.Clients().CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("creating namespace %s: %w", namespace, err)
	}
	definitions, err := filepath.Glob(filepath.Join(config.Root, "controller", "config", "crd", "*.yaml"))
	if err != nil {
		return nil, err
	}
	if err := plane.ApplyFiles(ctx, definitions...); err != nil {
		return nil, err
	}
	objects, err := renderChart(ctx, config)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if !installed[object.GetKind()] {
			continue
		}
		if object.Object["webhooks"] != nil {
			// There is no Service network, so the API server could not reach them; the manager
			// still wants to find them.
			object.Object["webhooks"] = []any{}
		}
		if err := plane.Create(ctx, object); err != nil {
			return nil, fmt.Errorf("installing the chart: %w", err)
		}
	}
	return &Milepost{config: config, plane: plane}, nil
}

func renderChart(ctx context.Context, config Config) ([]*unstructured.Unstructured, error) {
	command := exec.CommandContext(ctx, config.Helm, "template", release, filepath.Join(config.Root, "charts", "milepost"),
		"--namespace", namespace, "--set", "jobset.install=false")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("rendering the chart: %w", err)
	}
	objects, err := controlplane.Decode(out)
	if err != nil {
		return nil, fmt.Errorf("decoding the chart: %w", err)
	}
	return objects, nil
}

// Start runs the manager and returns when it is ready.
func (m *Milepost) Start(ctx context.Context, dir string, settings Settings) (*subject.Server, error) {
	ports, err := process.FreePorts(ctx, 3)
	if err != nil {
		return nil, err
	}
	token, err := m.plane.ServiceAccountToken(ctx, namespace, account)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := m.plane.TokenKubeconfig(token)
	if err != nil {
		return nil, err
	}
	kubeconfigPath, configPath := filepath.Join(dir, "milepost.kubeconfig"), filepath.Join(dir, "milepost.yaml")
	if err := os.WriteFile(kubeconfigPath, kubeconfig, 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(configPath, configFile(ports, settings), 0o600); err != nil {
		return nil, err
	}
	server := &subject.Server{Address: subject.LocalAddress(ports[0]), Name: subject.ServiceName}
	server.Process, err = process.Start(ctx, process.Spec{
		Name: "milepost", Path: m.config.Program, LogDir: dir,
		Args: []string{"--config=" + configPath, "--kubeconfig=" + kubeconfigPath},
		Env:  []string{"POD_NAMESPACE=" + namespace},
	})
	if err != nil {
		return nil, err
	}
	return server, server.Process.WaitReady(ctx, startTimeout, func(ctx context.Context) error {
		if err := process.CheckHTTP(ctx, "http://"+subject.LocalAddress(ports[1])+"/readyz"); err != nil {
			return err
		}
		if server.CA, err = m.authority(ctx); err != nil {
			return err
		}
		return server.Handshake(ctx)
	})
}

// authority is what the manager tells pods to trust.
func (m *Milepost) authority(ctx context.Context) ([]byte, error) {
	secret, err := m.plane.Clients().CoreV1().Secrets(namespace).Get(ctx, secretName, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	return secret.Data["ca.crt"], nil
}

// configFile is the chart's configuration but for ports, leader election and the settings.
func configFile(ports []int, s Settings) []byte {
	out := fmt.Appendf(nil, `apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
health: {healthProbeBindAddress: "%s"}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: %d}
leaderElection: {leaderElect: false}
featureGates: {TrainJobStatus: true}
`, subject.LocalAddress(ports[1]), ports[2])
	if s.ReconcileQPS > 0 {
		out = fmt.Appendf(out, "clientConnection: {qps: %d, burst: %d}\n", s.ReconcileQPS, 2*s.ReconcileQPS)
	}
	if s.Budget > 0 {
		return fmt.Appendf(out, "statusServer: {port: %d, qps: %d, burst: %d}\n", ports[0], s.Budget, 2*s.Budget)
	}
	return fmt.Appendf(out, "statusServer: {port: %d}\n", ports[0])
}
