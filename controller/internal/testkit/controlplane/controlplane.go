// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Package controlplane runs an API server with etcd as processes of their own,
// which a test can kill, start again and freeze.
//
// It owns the processes, their files and the key that service account tokens are
// signed with. It does not own objects, managers or the answer to a fault: that
// is what the tests are about. Suites that need no fault use package envtest.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrlenvtest "sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/milepost-dev/milepost/controller/internal/testkit/envtest"
)

const (
	loopback    = "127.0.0.1"
	adminToken  = "administrator"
	keyFile     = "tokens.key"
	publicFile  = "tokens.pub"
	loginFile   = "tokens.csv"
	servingFile = "apiserver.crt"

	startLimit = 2 * time.Minute
	stopLimit  = 20 * time.Second
	poll       = 50 * time.Millisecond
)

// Options of a plane. The zero value is a plane without limits of its own.
type Options struct {
	// EtcdQuota is the size in bytes beyond which etcd takes nothing more.
	EtcdQuota int
}

// Plane is a running API server with its etcd.
type Plane struct {
	// Config reaches the API server as a member of system:masters, without a
	// rate limit.
	Config *rest.Config
	// Scheme knows the built-in kinds, ours and JobSet.
	Scheme *apiruntime.Scheme
	// Signer signs service account tokens as the API server does.
	Signer Signer

	// honoured are the keys before Signer.
	honoured  []Signer
	opts      Options
	folder    string
	arguments []string
	etcd      *exec.Cmd
	etcdURL   string
	server    *exec.Cmd
	// ended is closed when the process of server has ended.
	ended chan struct{}
}

// Start runs etcd and an API server with our CRDs and that of JobSet. Their
// files are in folder, which the caller removes after Stop.
func Start(ctx context.Context, folder string, opts Options) (*Plane, error) {
	scheme, err := envtest.NewScheme()
	if err != nil {
		return nil, err
	}
	p := &Plane{Scheme: scheme, opts: opts, folder: folder}
	if err := p.start(ctx); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

func (p *Plane) start(ctx context.Context) error {
	ports, err := freePorts(ctx, 3)
	if err != nil {
		return err
	}
	host := fmt.Sprintf("https://%s:%d", loopback, ports[2])
	if p.Signer, err = newSigner(host); err != nil {
		return err
	}
	if err := p.writeFiles(); err != nil {
		return err
	}
	if err := p.startEtcd(ctx, ports[0], ports[1]); err != nil {
		return err
	}
	p.arguments = []string{
		fmt.Sprintf("--etcd-servers=http://%s:%d", loopback, ports[0]),
		"--bind-address=" + loopback, "--advertise-address=" + loopback,
		"--endpoint-reconciler-type=none",
		fmt.Sprintf("--secure-port=%d", ports[2]), "--cert-dir=" + p.folder,
		"--token-auth-file=" + p.file(loginFile), "--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer=" + host,
		"--service-account-signing-key-file=" + p.file(keyFile),
		"--service-account-key-file=" + p.file(publicFile),
		"--disable-admission-plugins=ServiceAccount",
	}
	if err := p.launch(); err != nil {
		return err
	}
	p.Config = &rest.Config{
		Host: host, BearerToken: adminToken, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: p.file(servingFile)},
	}
	if err := p.awaitReady(ctx); err != nil {
		return err
	}
	// Read now, so that whoever is given the configuration needs no file.
	if p.Config.CAData, err = os.ReadFile(p.file(servingFile)); err != nil {
		return fmt.Errorf("reading the certificate of the API server: %w", err)
	}
	p.Config.CAFile = ""
	return p.installCRDs(ctx)
}

func (p *Plane) file(name string) string { return filepath.Join(p.folder, name) }

func (p *Plane) writeFiles() error {
	login := []byte(adminToken + ",administrator,administrator,system:masters\n")
	if err := os.WriteFile(p.file(loginFile), login, 0o600); err != nil {
		return fmt.Errorf("writing the login: %w", err)
	}
	return p.writeKeys(p.Signer)
}

func (p *Plane) startEtcd(ctx context.Context, port, peerPort int) error {
	url, peer := fmt.Sprintf("http://%s:%d", loopback, port), fmt.Sprintf("http://%s:%d", loopback, peerPort)
	arguments := []string{
		"--name=faults", "--data-dir=" + p.file("etcd"), "--log-level=error", "--unsafe-no-fsync",
		"--listen-client-urls=" + url, "--advertise-client-urls=" + url,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=faults=" + peer,
	}
	if p.opts.EtcdQuota > 0 {
		arguments = append(arguments, fmt.Sprintf("--quota-backend-bytes=%d", p.opts.EtcdQuota))
	}
	var err error
	if p.etcd, err = p.run("etcd", arguments...); err != nil {
		return err
	}
	p.etcdURL = url
	return await(ctx, "etcd", func(ctx context.Context) error { return answers(ctx, url+"/health") })
}

func answers(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

func (p *Plane) launch() error {
	server, err := p.run("kube-apiserver", p.arguments...)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = server.Wait() // how it ended is what tests bring about
		close(ended)
	}()
	p.server, p.ended = server, ended
	return nil
}

func (p *Plane) run(name string, arguments ...string) (*exec.Cmd, error) {
	log, err := os.OpenFile(p.file(name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", name, err)
	}
	defer log.Close() // the process has its own handle
	// The processes end with Stop, whatever becomes of a context.
	command := exec.Command(filepath.Join(os.Getenv(envtest.EnvAssets), name), arguments...) //nolint:gosec // a binary of the test
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	return command, nil
}

func (p *Plane) installCRDs(ctx context.Context) error {
	folders, err := envtest.CRDFolders(ctx)
	if err != nil {
		return err
	}
	_, err = ctrlenvtest.InstallCRDs(p.Config, ctrlenvtest.CRDInstallOptions{
		Scheme: p.Scheme, Paths: folders, ErrorIfPathMissing: true, MaxTime: startLimit, PollInterval: poll,
	})
	if err != nil {
		return fmt.Errorf("installing CRDs: %w", err)
	}
	return nil
}

// Kill ends the API server without a word and returns when it is gone.
func (p *Plane) Kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.ended
	return nil
}

// Restart starts the API server again, with the same address and keys, and
// returns when it is ready.
func (p *Plane) Restart(ctx context.Context) error {
	if err := p.launch(); err != nil {
		return err
	}
	return p.awaitReady(ctx)
}

// Freeze stops the API server where it stands: connections stay open, and
// nobody answers.
func (p *Plane) Freeze() error { return p.signal(syscall.SIGSTOP) }

// Thaw ends Freeze.
func (p *Plane) Thaw() error { return p.signal(syscall.SIGCONT) }

func (p *Plane) signal(signal syscall.Signal) error {
	if err := p.server.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signalling the API server: %w", err)
	}
	return nil
}

func (p *Plane) awaitReady(ctx context.Context) error {
	return await(ctx, "API server", func(ctx context.Context) error {
		c, err := discovery.NewDiscoveryClientForConfig(p.Config)
		if err != nil {
			return err
		}
		return c.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

// Stop ends both processes. Thaw a frozen API server first.
func (p *Plane) Stop() error {
	var errs []error
	if p.server != nil {
		errs = append(errs, p.signal(syscall.SIGTERM))
		limit := time.NewTimer(stopLimit)
		defer limit.Stop()
		select {
		case <-p.ended:
		case <-limit.C:
			errs = append(errs, p.Kill())
		}
	}
	if p.etcd != nil {
		errs = append(errs, p.etcd.Process.Kill())
		_ = p.etcd.Wait() // it was killed
	}
	return errors.Join(errs...)
}

func await(ctx context.Context, what string, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		last := check(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the %s: %w", what, errors.Join(ctx.Err(), last))
		}
	}
}

func freePorts(ctx context.Context, n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", loopback+":0")
		if err != nil {
			return nil, fmt.Errorf("looking for a free port: %w", err)
		}
		defer listener.Close() // kept open until all are found, so that no port is found twice
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
