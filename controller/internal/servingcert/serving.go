// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/milepost-dev/milepost/controller/internal/logkeys"
	"github.com/milepost-dev/milepost/controller/internal/servingcert/authority"
)

// ErrNotLoaded says that no certificate has been read from the Secret so far.
var ErrNotLoaded = errors.New("no serving certificate loaded")

// serving is what handshakes are answered with; it is replaced as a whole.
type serving struct {
	certificate *tls.Certificate
	bundle      []byte // ca.crt; empty when the Secret has none
}

func newServing(data map[string][]byte) (*serving, error) {
	certificate, err := tls.X509KeyPair(data[KeyTLSCert], data[KeyTLSKey])
	if err != nil {
		return nil, fmt.Errorf("pairing %s with %s: %w", KeyTLSCert, KeyTLSKey, err)
	}
	return &serving{certificate: &certificate, bundle: data[KeyCACert]}, nil
}

func (s *serving) leaf() *x509.Certificate { return s.certificate.Leaf }

// GetCertificate answers a handshake with the present certificate. It has the form that tls.Config
// expects; a rotated certificate is served from the next handshake on.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	current := k.serving.Load()
	if current == nil {
		return nil, ErrNotLoaded
	}
	return current.certificate, nil
}

// CABundle returns what clients have to trust, as PEM: one CA certificate, two during an overlap.
// The error says what is missing when there is none.
func (k *Keeper) CABundle() ([]byte, error) {
	current := k.serving.Load()
	if current == nil {
		return nil, ErrNotLoaded
	}
	if len(authority.ParseCertificates(current.bundle)) == 0 {
		return nil, fmt.Errorf("no certificate under %s of Secret %q", KeyCACert, k.config.Secret)
	}
	return current.bundle, nil
}

// serve puts a certificate in place. Concurrent calls would both have read the stored Secret, so the
// order between them does not matter for long: the next look corrects it.
func (k *Keeper) serve(ctx context.Context, next *serving) {
	previous := k.serving.Swap(next)
	if previous == nil || !bytes.Equal(previous.certificate.Certificate[0], next.certificate.Certificate[0]) {
		log.FromContext(ctx).Info("serving a new certificate",
			logkeys.Secret, k.secretRef(), "serial", next.leaf().SerialNumber.Text(16), "notAfter", next.leaf().NotAfter)
	}
}
