// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// lifetime of every certificate: longer than any demo, short enough that a
// forgotten key is soon worthless.
const lifetime = 30 * 24 * time.Hour

// identity is what a certificate says about its holder.
type identity struct {
	user   string
	groups []string
	names  []string
	ips    []string
}

// pair is a key with its certificate.
type pair struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(name string, now time.Time) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("making the authority's key: %w", err)
	}
	template, err := certificateTemplate(identity{user: name}, now)
	if err != nil {
		return pair{}, err
	}
	template.IsCA = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	return sign(template, template, key, key)
}

// issue makes a certificate, signed by p, that serves for both ends of a connection.
func (p pair) issue(id identity, now time.Time) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("making the key of %s: %w", id.user, err)
	}
	template, err := certificateTemplate(id, now)
	if err != nil {
		return pair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	return sign(template, p.certificate, key, p.key)
}

func certificateTemplate(id identity, now time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("drawing a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: id.user, Organization: id.groups},
		NotBefore:             now.Add(-5 * time.Minute),
		NotAfter:              now.Add(lifetime),
		BasicConstraintsValid: true,
		DNSNames:              id.names,
	}
	for _, text := range id.ips {
		ip := net.ParseIP(text)
		if ip == nil {
			return nil, fmt.Errorf("%q is no IP address", text)
		}
		template.IPAddresses = append(template.IPAddresses, ip)
	}
	return template, nil
}

func sign(template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) (pair, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return pair{}, fmt.Errorf("signing the certificate of %s: %w", template.Subject.CommonName, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return pair{}, fmt.Errorf("reading back the certificate of %s: %w", template.Subject.CommonName, err)
	}
	return pair{certificate: certificate, key: key}, nil
}

// writeTokenKey makes the key that signs service account tokens. It is an RSA
// key, as in nearly all clusters, so that programs meet the usual algorithm.
func writeTokenKey(path string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fmt.Errorf("making the key of service accounts: %w", err)
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
		return fmt.Errorf("writing the key of service accounts: %w", err)
	}
	return nil
}

func (p pair) certificatePEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.certificate.Raw})
}

func (p pair) keyPEM() ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(p.key)
	if err != nil {
		return nil, fmt.Errorf("encoding the key of %s: %w", p.certificate.Subject.CommonName, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func (p pair) write(certificatePath, keyPath string) error {
	key, err := p.keyPEM()
	if err != nil {
		return err
	}
	if err := os.WriteFile(keyPath, key, 0o600); err != nil {
		return fmt.Errorf("writing a key: %w", err)
	}
	if err := os.WriteFile(certificatePath, p.certificatePEM(), 0o644); err != nil {
		return fmt.Errorf("writing a certificate: %w", err)
	}
	return nil
}
