// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/milepost-dev/milepost/e2e/bench/pki"
	"github.com/milepost-dev/milepost/e2e/bench/process"
)

// startTimeout is generous: the machine may be busy with builds.
const startTimeout = 2 * time.Minute

// Files of the control plane in its key folder.
const (
	caFile        = "ca.crt"
	tokenKeyFile  = "tokens.key"
	tokenPubFile  = "tokens.pub"
	serviceRange  = "10.96.0.0/12"
	loopback      = "127.0.0.1"
	issuerDocPath = "/openid/v1/jwks"
)

func (p *Plane) startAPIServer(ctx context.Context) error {
	etcd, err := p.startEtcd(ctx)
	if err != nil {
		return err
	}
	port, err := process.FreePort(ctx)
	if err != nil {
		return err
	}
	p.host = fmt.Sprintf("https://%s:%d", loopback, port)
	keys, err := p.writeKeys()
	if err != nil {
		return err
	}
	in := func(name string) string { return filepath.Join(keys, name) }
	server, err := p.start(ctx, "kube-apiserver", p.config.APIServer,
		"--etcd-servers="+etcd,
		"--bind-address="+loopback,
		"--advertise-address="+loopback,
		// Nobody connects through the Service "kubernetes", which must not point to loopback.
		"--endpoint-reconciler-type=none",
		fmt.Sprintf("--secure-port=%d", port),
		"--tls-cert-file="+in("apiserver.crt"),
		"--tls-private-key-file="+in("apiserver.key"),
		"--client-ca-file="+in(caFile),
		"--authorization-mode=RBAC",
		"--service-cluster-ip-range="+serviceRange,
		"--service-account-issuer="+p.host,
		"--service-account-jwks-uri="+p.host+issuerDocPath,
		"--service-account-signing-key-file="+in(tokenKeyFile),
		"--service-account-key-file="+in(tokenPubFile),
	)
	if err != nil {
		return err
	}
	if err := p.logIn(); err != nil {
		return err
	}
	return server.WaitReady(ctx, startTimeout, func(ctx context.Context) error {
		return p.clients.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

// startEtcd returns the URL of a new, empty etcd that syncs its log to disk as in production.
func (p *Plane) startEtcd(ctx context.Context) (string, error) {
	data, err := p.Dir("etcd")
	if err != nil {
		return "", err
	}
	ports, err := process.FreePorts(ctx, 2)
	if err != nil {
		return "", err
	}
	url := fmt.Sprintf("http://%s:%d", loopback, ports[0])
	peers := fmt.Sprintf("http://%s:%d", loopback, ports[1])
	etcd, err := p.start(ctx, "etcd", p.config.Etcd,
		"--name=bench",
		"--data-dir="+data,
		"--listen-client-urls="+url,
		"--advertise-client-urls="+url,
		"--listen-peer-urls="+peers,
		"--initial-advertise-peer-urls="+peers,
		"--initial-cluster=bench="+peers,
		"--log-level=warn",
	)
	if err != nil {
		return "", err
	}
	return url, etcd.WaitReady(ctx, startTimeout, func(ctx context.Context) error { return process.CheckHTTP(ctx, url+"/health") })
}

// writeKeys puts what the API server needs into the key folder and returns that folder.
func (p *Plane) writeKeys() (string, error) {
	keys, err := p.Dir("keys")
	if err != nil {
		return "", err
	}
	serving, err := p.authority.Server(loopback, "localhost")
	if err != nil {
		return "", err
	}
	if _, _, err := serving.Write(keys, "apiserver"); err != nil {
		return "", fmt.Errorf("writing keys: %w", err)
	}
	private, public, err := pki.SigningKey()
	if err != nil {
		return "", err
	}
	for name, content := range map[string][]byte{
		caFile: p.authority.PEM(), tokenKeyFile: private, tokenPubFile: public,
	} {
		if err := os.WriteFile(filepath.Join(keys, name), content, 0o600); err != nil {
			return "", fmt.Errorf("writing keys: %w", err)
		}
	}
	return keys, nil
}

// logIn makes the configuration and clients of the administrator.
func (p *Plane) logIn() error {
	pair, err := p.authority.Client("bench-admin", "system:masters")
	if err != nil {
		return err
	}
	p.admin = &rest.Config{
		Host:            p.host,
		TLSClientConfig: rest.TLSClientConfig{CAData: p.authority.PEM(), CertData: pair.Cert, KeyData: pair.Key},
		QPS:             -1, // the fixture paces itself
	}
	p.clients, err = kubernetes.NewForConfig(p.admin)
	if err != nil {
		return fmt.Errorf("making clients: %w", err)
	}
	return nil
}
