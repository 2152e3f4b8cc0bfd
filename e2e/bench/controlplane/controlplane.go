// SPDX-License-Identifier: Apache-2.0

// Package controlplane runs a Kubernetes control plane without a node on loopback: etcd,
// kube-apiserver, kube-controller-manager and the JobSet controller, as unprivileged processes in a
// private folder.
//
// It owns those processes, their certificates and how to log in. It does not own the objects a
// benchmark creates, nor the server it measures.
package controlplane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/milepost-dev/milepost/e2e/bench/pki"
	"github.com/milepost-dev/milepost/e2e/bench/process"
)

// Config says what to run and where.
type Config struct {
	// Dir receives keys, data and logs. It must exist, be empty and be readable by this user only.
	Dir string
	// Paths of the programs.
	Etcd, APIServer, ControllerManager, JobSet string
	// JobSetModule is the folder of the module sigs.k8s.io/jobset, which holds its manifests.
	JobSetModule string
}

// Plane is a running control plane.
type Plane struct {
	config    Config
	authority *pki.Authority
	host      string // of the API server, as a URL
	admin     *rest.Config
	clients   kubernetes.Interface
	running   []*process.Process
}

// Start returns a control plane whose every part is ready. When it fails, nothing is left running.
func Start(ctx context.Context, config Config) (_ *Plane, err error) {
	p := &Plane{config: config}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Stop())
		}
	}()
	if p.authority, err = pki.NewAuthority("bench"); err != nil {
		return nil, err
	}
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"API server", p.startAPIServer},
		{"controller manager", p.startControllerManager},
		{"JobSet controller", p.startJobSet},
	} {
		if err := step.run(ctx); err != nil {
			return nil, fmt.Errorf("starting the %s: %w", step.name, err)
		}
	}
	return p, nil
}

// Stop ends every process, the last started first.
func (p *Plane) Stop() error {
	err := process.StopAll(p.running)
	p.running = nil
	return err
}

// Alive returns an error that names the parts that have ended by themselves.
func (p *Plane) Alive() error {
	var errs []error
	for _, running := range p.running {
		errs = append(errs, running.Alive())
	}
	return errors.Join(errs...)
}

// Processes are the running parts.
func (p *Plane) Processes() []*process.Process { return p.running }

// Authority signs the certificates of this control plane. Servers measured beside it get theirs
// from it too.
func (p *Plane) Authority() *pki.Authority { return p.authority }

// Host is the URL of the API server, which is also the issuer of tokens.
func (p *Plane) Host() string { return p.host }

// Admin logs in as a member of system:masters, without a limit on requests.
func (p *Plane) Admin() *rest.Config { return rest.CopyConfig(p.admin) }

// Clients are those of Admin.
func (p *Plane) Clients() kubernetes.Interface { return p.clients }

// Dir returns the path of a folder below the private one, made if necessary.
func (p *Plane) Dir(elements ...string) (string, error) {
	dir := filepath.Join(append([]string{p.config.Dir}, elements...)...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making a folder: %w", err)
	}
	return dir, nil
}

// start runs a program and remembers to stop it.
func (p *Plane) start(ctx context.Context, name, path string, args ...string) (*process.Process, error) {
	logs, err := p.Dir("logs")
	if err != nil {
		return nil, err
	}
	running, err := process.Start(ctx, process.Spec{Name: name, Path: path, Args: args, LogDir: logs})
	if err != nil {
		return nil, err
	}
	p.running = append(p.running, running)
	return running, nil
}

// healthCheck GETs a URL of a part that serves HTTPS with a certificate of its own making.
func (p *Plane) healthCheck(url string) func(context.Context) error {
	client := &http.Client{Transport: &http.Transport{
		// The certificate is made by the program at its start and signed by nobody; the port is on
		// loopback and the answer only says that the program is up.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	return func(ctx context.Context) error { return process.CheckWith(ctx, client, url) }
}
