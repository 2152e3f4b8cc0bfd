// SPDX-License-Identifier: Apache-2.0

// Package upstream runs the manager of Kubeflow Trainer as a process beside a control plane.
//
// It owns what that manager needs to feel at home: definitions, access, certificate, configuration
// and the files of a pod. It does not own the build, nor what is measured.
package upstream

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/milepost-dev/milepost/e2e/bench/build"
	"github.com/milepost-dev/milepost/e2e/bench/confine"
	"github.com/milepost-dev/milepost/e2e/bench/controlplane"
	"github.com/milepost-dev/milepost/e2e/bench/pki"
	"github.com/milepost-dev/milepost/e2e/bench/process"
	"github.com/milepost-dev/milepost/e2e/bench/subject"
)

const (
	namespace  = "kubeflow-system"
	account    = "kubeflow-trainer-controller-manager"
	secretName = "kubeflow-trainer-webhook-cert"

	// Places the manager has compiled in.
	accountDir = "/var/run/secrets/kubernetes.io/serviceaccount"
	certDir    = "/tmp/k8s-webhook-server/serving-certs"
	// ownDir lies in a folder that is covered anyway.
	ownDir = "/tmp/bench"
)

// Limits are the rates of the manager's two clients, per second; 0 keeps its default.
type Limits struct {
	ReconcileQPS, ReconcileBurst int
	StatusQPS, StatusBurst       int
}

// Upstream is the manager of one control plane.
type Upstream struct {
	plane *controlplane.Plane
	build build.UpstreamManager
	bench string // this program, which starts the manager confined
	cert  pki.Pair
}

// Install creates on the control plane what the manager expects there.
func Install(ctx context.Context, plane *controlplane.Plane, built build.UpstreamManager, bench string) (*Upstream, error) {
	cert, err := plane.Authority().Server(subject.ServiceName)
	if err != nil {
		return nil, err
	}
	base := filepath.Join(built.Module, "manifests", "base")
	err = plane.ApplyFiles(ctx,
		filepath.Join(base, "crds", "trainer.kubeflow.org_clustertrainingruntimes.yaml"),
		filepath.Join(base, "crds", "trainer.kubeflow.org_trainingruntimes.yaml"),
		filepath.Join(base, "crds", "trainer.kubeflow.org_trainjobs.yaml"),
	)
	if err != nil {
		return nil, err
	}
	core := plane.Clients().CoreV1()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := core.Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("creating namespace %s: %w", namespace, err)
	}
	// The manager copies the CA from this Secret into a ConfigMap for the pods of each job.
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: secretName, Namespace: namespace},
		Data:       map[string][]byte{"ca.crt": plane.Authority().PEM(), "tls.crt": cert.Cert, "tls.key": cert.Key},
	}
	if _, err := core.Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("creating secret %s: %w", secretName, err)
	}
	if err := plane.GrantFile(ctx, filepath.Join(base, "rbac", "role.yaml"), namespace, account); err != nil {
		return nil, err
	}
	return &Upstream{plane: plane, build: built, bench: bench, cert: cert}, nil
}

// Start runs the manager and returns when its status server takes connections.
func (u *Upstream) Start(ctx context.Context, dir string, limits Limits) (*subject.Server, error) {
	ports, err := process.FreePorts(ctx, 3)
	if err != nil {
		return nil, err
	}
	plan, err := u.confinement(ctx, ports, limits)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "upstream.json")
	if err := plan.Write(path); err != nil {
		return nil, err
	}
	server := &subject.Server{Address: subject.LocalAddress(ports[0]), Name: subject.ServiceName, CA: u.plane.Authority().PEM()}
	server.Process, err = process.Start(ctx, process.Spec{
		Name: "upstream", Path: u.bench, Args: []string{"confine", path}, LogDir: dir, OwnMounts: true,
		// Its status server blocks the stop of the manager for good; nothing is lost by a kill.
		StopGrace: time.Second,
	})
	if err != nil {
		if os.Geteuid() != 0 {
			err = fmt.Errorf("%w (this needs user namespaces, which this machine may not allow; leave upstream out with --server)", err)
		}
		return nil, err
	}
	health := fmt.Sprintf("http://%s/readyz", subject.LocalAddress(ports[1]))
	return server, server.Process.WaitReady(ctx, time.Minute, func(ctx context.Context) error {
		if err := process.CheckHTTP(ctx, health); err != nil {
			return err
		}
		return server.Handshake(ctx)
	})
}

// confinement gives the manager the files that a pod of its Deployment would have.
func (u *Upstream) confinement(ctx context.Context, ports []int, limits Limits) (*confine.Plan, error) {
	token, err := u.plane.ServiceAccountToken(ctx, namespace, account)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := u.plane.TokenKubeconfig(token)
	if err != nil {
		return nil, err
	}
	return &confine.Plan{
		Program: u.build.Path,
		Args:    []string{"--config=" + ownDir + "/config.yaml", "--kubeconfig=" + ownDir + "/kubeconfig"},
		Folders: []string{"/run", "/tmp"},
		Files: []confine.File{
			{Path: accountDir + "/token", Content: []byte(token)},
			{Path: accountDir + "/namespace", Content: []byte(namespace)},
			{Path: certDir + "/tls.crt", Content: u.cert.Cert},
			{Path: certDir + "/tls.key", Content: u.cert.Key},
			{Path: ownDir + "/kubeconfig", Content: kubeconfig},
			{Path: ownDir + "/config.yaml", Content: configFile(ports, limits)},
		},
	}, nil
}

// configFile is the manager's configuration: its published defaults but for ports, certificates,
// leader election and the limits asked for.
func configFile(ports []int, limits Limits) []byte {
	return fmt.Appendf(nil, `apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
health: {healthProbeBindAddress: "%s", readinessEndpointName: readyz, livenessEndpointName: healthz}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: %d}
leaderElection: {leaderElect: false}
controller:
  groupKindConcurrency:
    TrainJob.trainer.kubeflow.org: 5
    TrainingRuntime.trainer.kubeflow.org: 1
    ClusterTrainingRuntime.trainer.kubeflow.org: 1
certManagement: {enable: false}
clientConnection: {qps: %d, burst: %d}
statusServer: {port: %d, qps: %d, burst: %d}
featureGates: {TrainJobStatus: true}
`, subject.LocalAddress(ports[1]), ports[2],
		orDefault(limits.ReconcileQPS, 50), orDefault(limits.ReconcileBurst, 100),
		ports[0], orDefault(limits.StatusQPS, 5), orDefault(limits.StatusBurst, 10))
}

func orDefault(value, fallback int) int {
	if value == 0 {
		return fallback
	}
	return value
}
