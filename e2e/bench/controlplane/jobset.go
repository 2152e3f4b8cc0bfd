// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/milepost-dev/milepost/e2e/bench/process"
)

const (
	jobSetNamespace = "jobset-system"
	jobSetAccount   = "jobset-controller-manager"
)

// startJobSet runs the JobSet controller with its own rules of access and its admission webhook for
// JobSets, reached by URL since there is no Service network here.
func (p *Plane) startJobSet(ctx context.Context) error {
	ports, err := process.FreePorts(ctx, 2)
	if err != nil {
		return err
	}
	webhook, health := ports[0], ports[1]
	if err := p.installJobSet(ctx, webhook); err != nil {
		return err
	}
	dir, err := p.Dir("jobset")
	if err != nil {
		return err
	}
	config, err := p.writeJobSetConfig(ctx, dir, webhook, health)
	if err != nil {
		return err
	}
	controller, err := process.Start(ctx, process.Spec{
		Name: "jobset", Path: p.config.JobSet, LogDir: filepath.Join(p.config.Dir, "logs"),
		Args: []string{"--config=" + config, "--kubeconfig=" + filepath.Join(dir, "kubeconfig"), "--zap-log-level=error"},
	})
	if err != nil {
		return err
	}
	p.running = append(p.running, controller)
	url := fmt.Sprintf("http://%s:%d/readyz", loopback, health)
	return controller.WaitReady(ctx, startTimeout, func(ctx context.Context) error { return process.CheckHTTP(ctx, url) })
}

func (p *Plane) installJobSet(ctx context.Context, webhookPort int) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: jobSetNamespace}}
	if _, err := p.clients.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating namespace %s: %w", jobSetNamespace, err)
	}
	components := filepath.Join(p.config.JobSetModule, "config", "components")
	if err := p.ApplyFiles(ctx, filepath.Join(components, "crd", "bases", "jobset.x-k8s.io_jobsets.yaml")); err != nil {
		return err
	}
	if err := p.GrantFile(ctx, filepath.Join(components, "rbac", "role.yaml"), jobSetNamespace, jobSetAccount); err != nil {
		return err
	}
	return p.registerWebhooks(ctx, filepath.Join(components, "webhook", "manifests.yaml"), webhookPort, "jobsets")
}

// writeJobSetConfig writes certificate, kubeconfig and configuration and returns the path of the
// last.
func (p *Plane) writeJobSetConfig(ctx context.Context, dir string, webhook, health int) (string, error) {
	pair, err := p.authority.Server(loopback)
	if err != nil {
		return "", err
	}
	if _, _, err := pair.Write(dir, "tls"); err != nil {
		return "", err
	}
	token, err := p.ServiceAccountToken(ctx, jobSetNamespace, jobSetAccount)
	if err != nil {
		return "", err
	}
	kubeconfig, err := p.TokenKubeconfig(token)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "kubeconfig"), kubeconfig, 0o600); err != nil {
		return "", err
	}
	config := fmt.Sprintf(`apiVersion: config.jobset.x-k8s.io/v1alpha1
kind: Configuration
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
health: {healthProbeBindAddress: "%[1]s:%[3]d"}
metrics: {bindAddress: "0"}
webhook: {host: %[1]s, port: %[2]d, certDir: %[4]q}
`, loopback, webhook, health, dir)
	path := filepath.Join(dir, "config.yaml")
	return path, os.WriteFile(path, []byte(config), 0o600)
}
