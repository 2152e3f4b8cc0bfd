// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
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

// serviceURL is an address of the manager's Service by the name that pods use.
func serviceURL(port int, path string) string {
	return "https://" + net.JoinHostPort(ServiceName+"."+Namespace+".svc", strconv.Itoa(port)) + path
}

// StatusURL is the address that pods are given for a path of the status endpoint.
func (b *Bed) StatusURL(path string) string { return serviceURL(statusPort, path) }

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
	return b.serviceClient(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}), nil
}

// serviceClient connects to the Service's address where a URL has its name: the cluster's DNS
// answers pods only, its network answers tests as well.
func (b *Bed) serviceClient(trust *tls.Config) *http.Client {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		service := &corev1.Service{}
		if err := b.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: ServiceName}, service); err != nil {
			return nil, fmt.Errorf("looking up the Service: %w", err)
		}
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(service.Spec.ClusterIP, port))
	}
	// Each call may meet another replica, as the calls of pods do.
	return &http.Client{
		Timeout:   callTimeout,
		Transport: &http.Transport{TLSClientConfig: trust, DisableKeepAlives: true, DialContext: dial},
	}
}
