// SPDX-License-Identifier: Apache-2.0

// Package subject describes a server that is measured: where it listens and what it costs.
//
// It owns what all such servers have in common. How each is configured and started is the matter of
// the packages echo, milepost and upstream.
package subject

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"

	"github.com/milepost-dev/milepost/e2e/bench/process"
)

// Server is a running server that takes reports.
type Server struct {
	Address string // host:port
	Name    string // that its certificate carries
	CA      []byte // that signed it, in PEM
	Process *process.Process
}

// ServiceName is the name by which pods of a cluster reach the endpoint.
const ServiceName = "kubeflow-trainer-controller-manager.kubeflow-system.svc"

// Handshake returns nil when the server completes a TLS handshake that satisfies its clients.
func (s *Server) Handshake(ctx context.Context) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.CA)
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: s.Name, MinVersion: tls.VersionTLS12}}
	conn, err := dialer.DialContext(ctx, "tcp", s.Address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// LocalAddress is an address on loopback.
func LocalAddress(port int) string { return net.JoinHostPort("127.0.0.1", fmt.Sprint(port)) }
