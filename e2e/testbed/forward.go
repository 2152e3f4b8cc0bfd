// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	statusPort   = 10443
	metricsPort  = 8443
	pollInterval = 200 * time.Millisecond
	callTimeout  = 15 * time.Second
)

// forward is a running `kubectl port-forward`: the one way to a Service that works from inside
// and outside of every kind of cluster.
type forward struct {
	address string
	process *exec.Cmd
}

var forwarding = regexp.MustCompile(`Forwarding from (\S+:\d+) ->`)

// forwardTo returns the local address that leads to the Service's port, starting the way there
// when there is none.
func (b *Bed) forwardTo(ctx context.Context, port int) (string, error) {
	if f := b.forwards[port]; f != nil && reachable(f.address) {
		return f.address, nil
	}
	// Not bound to ctx: it serves later calls as well, until dropForwards.
	process := exec.Command("kubectl", "port-forward", "--namespace", Namespace, "service/"+ServiceName, ":"+strconv.Itoa(port)) //nolint:noctx // see above
	output, err := process.StdoutPipe()
	if err != nil {
		return "", fmt.Errorf("forwarding port %d: %w", port, err)
	}
	if err := process.Start(); err != nil {
		return "", fmt.Errorf("forwarding port %d: %w", port, err)
	}
	address := make(chan string, 1)
	go func() {
		defer close(address)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			if match := forwarding.FindStringSubmatch(lines.Text()); match != nil {
				address <- match[1]
				break
			}
		}
		_, _ = io.Copy(io.Discard, output) // kubectl must not block on a full pipe
	}()
	select {
	case got, ok := <-address:
		if !ok {
			return "", errors.Join(fmt.Errorf("forwarding port %d: kubectl gave no address", port), process.Wait())
		}
		b.forwards[port] = &forward{address: got, process: process}
		return got, nil
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), process.Process.Kill())
	}
}

func reachable(address string) bool {
	connection, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	return connection.Close() == nil
}

func (b *Bed) dropForwards() {
	for port, f := range b.forwards {
		_ = f.process.Process.Kill() // it may have ended with its pod
		_ = f.process.Wait()
		delete(b.forwards, port)
	}
}

// StatusURL is the address that pods are given for a path of the status endpoint.
func (b *Bed) StatusURL(path string) string {
	return "https://" + net.JoinHostPort(ServiceName+"."+Namespace+".svc", strconv.Itoa(statusPort)) + path
}

// StatusClient calls StatusURL addresses from the test. It trusts what pods trust: the CA in the
// certificate Secret, and nothing else.
func (b *Bed) StatusClient(ctx context.Context) (*http.Client, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: Namespace, Name: "kubeflow-trainer-webhook-cert"}
	if err := b.Client.Get(ctx, key, secret); err != nil {
		return nil, fmt.Errorf("reading the CA: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(secret.Data["ca.crt"]) {
		return nil, errors.New("reading the CA: the Secret holds no certificate under ca.crt")
	}
	return b.clientTo(statusPort, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}), nil
}

// clientTo sends every request to the Service's port, whatever name the URL holds.
func (b *Bed) clientTo(port int, trust *tls.Config) *http.Client {
	return &http.Client{
		Timeout: callTimeout,
		Transport: &http.Transport{
			TLSClientConfig:   trust,
			DisableKeepAlives: true, // a new forward must not meet an old connection
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				address, err := b.forwardTo(ctx, port)
				if err != nil {
					return nil, err
				}
				return (&net.Dialer{}).DialContext(ctx, network, address)
			},
		},
	}
}
