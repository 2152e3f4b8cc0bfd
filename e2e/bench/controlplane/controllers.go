// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/milepost-dev/milepost/e2e/bench/process"
)

// startControllerManager runs only the controllers that stand between a JobSet and its pods. The
// others have nothing to do without nodes and would only take CPU time from what is measured.
func (p *Plane) startControllerManager(ctx context.Context) error {
	kubeconfig, err := p.certKubeconfig("system:kube-controller-manager")
	if err != nil {
		return err
	}
	keys, err := p.Dir("keys")
	if err != nil {
		return err
	}
	path := filepath.Join(keys, "kube-controller-manager.kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		return err
	}
	port, err := process.FreePort(ctx)
	if err != nil {
		return err
	}
	manager, err := p.start(ctx, "kube-controller-manager", p.config.ControllerManager,
		"--kubeconfig="+path,
		"--authentication-kubeconfig="+path,
		"--authorization-kubeconfig="+path,
		"--authorization-always-allow-paths=/healthz",
		"--bind-address="+loopback,
		fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir="+keys,
		"--leader-elect=false",
		"--use-service-account-credentials",
		"--service-account-private-key-file="+filepath.Join(keys, tokenKeyFile),
		"--root-ca-file="+filepath.Join(keys, caFile),
		"--controllers=job-controller,serviceaccount-controller,root-ca-certificate-publisher-controller",
		"--concurrent-job-syncs=20",
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
	)
	if err != nil {
		return err
	}
	check := p.healthCheck(fmt.Sprintf("https://%s:%d/healthz", loopback, port))
	return manager.WaitReady(ctx, startTimeout, check)
}
