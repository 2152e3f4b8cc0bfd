// SPDX-License-Identifier: Apache-2.0

// Package authority makes and reads the certificates of a private certificate authority.
//
// It owns the shape of the certificates: key type, extensions, names and serial numbers, so that
// strict RFC 5280 checks (Python 3.13 and later switch them on by default) accept them. It does not
// own where certificates are kept, when they are renewed or who serves them, and it knows no clock.
package authority

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"time"
)

// subjectKeyIDLength is the length in bytes of a key identifier: the leftmost 160 bits of a SHA-256
// digest, method 1 of RFC 7093.
const subjectKeyIDLength = 20

// ErrUnusable says that a certificate and key are no certificate authority one can sign with.
var ErrUnusable = errors.New("not a usable certificate authority")

// Authority is a CA certificate together with its private key.
type Authority struct {
	// Certificate is the self-signed CA certificate.
	Certificate *x509.Certificate

	key crypto.Signer
}

// Name is what the subject of a certificate authority says of it.
type Name struct {
	CommonName   string
	Organization string
}

// Leaf describes a server certificate to issue.
type Leaf struct {
	// CommonName is for people who read the certificate; clients look at the names below. At most 64
	// characters, which is why a host name does not belong here.
	CommonName string
	DNSNames   []string
	IPs        []net.IP
	NotBefore  time.Time
	NotAfter   time.Time
}

// New creates a certificate authority with a fresh ECDSA P-256 key, valid from notBefore to notAfter.
func New(name Name, notBefore, notAfter time.Time) (*Authority, error) {
	key, keyID, err := newKey()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject: pkix.Name{
			CommonName:   name.CommonName,
			Organization: []string{name.Organization},
			// Each authority has a subject of its own: a certificate in which the next authority is
			// signed by this one must not look self-issued.
			SerialNumber: hex.EncodeToString(keyID),
		},
		NotBefore:             notBefore,
		NotAfter:              notAfter,
		SubjectKeyId:          keyID,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		// One level below: the successor's certificate signed by this authority.
		MaxPathLen: 1,
	}
	certificate, err := sign(template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate authority: %w", err)
	}
	return &Authority{Certificate: certificate, key: key}, nil
}

// Parse reads an authority from a PEM key and that certificate of the bundle which belongs to it.
// It returns an error that wraps ErrUnusable when there is none.
func Parse(bundle []*x509.Certificate, keyPEM []byte) (*Authority, error) {
	key, err := parseKey(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("reading the CA key: %w: %w", ErrUnusable, err)
	}
	for _, certificate := range bundle {
		if !samePublicKey(certificate.PublicKey, key.Public()) {
			continue
		}
		if err := checkCanSign(certificate); err != nil {
			return nil, err
		}
		return &Authority{Certificate: certificate, key: key}, nil
	}
	return nil, fmt.Errorf("no CA certificate belongs to the CA key: %w", ErrUnusable)
}

// Issue creates a server certificate with a fresh ECDSA P-256 key.
func (a *Authority) Issue(leaf Leaf) (*x509.Certificate, crypto.Signer, error) {
	key, keyID, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: leaf.CommonName},
		DNSNames:              leaf.DNSNames,
		IPAddresses:           leaf.IPs,
		NotBefore:             leaf.NotBefore,
		NotAfter:              leaf.NotAfter,
		SubjectKeyId:          keyID,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	certificate, err := sign(template, a.Certificate, key.Public(), a.key)
	if err != nil {
		return nil, nil, fmt.Errorf("signing a server certificate: %w", err)
	}
	return certificate, key, nil
}

// CrossSign makes a certificate of the next authority that is signed by this one. A server which
// presents it behind its own certificate is trusted by clients that know only this authority. It
// lives no longer than either of the two.
func (a *Authority) CrossSign(next *x509.Certificate, notBefore time.Time) (*x509.Certificate, error) {
	notAfter := next.NotAfter
	if a.Certificate.NotAfter.Before(notAfter) {
		notAfter = a.Certificate.NotAfter
	}
	template := &x509.Certificate{
		Subject:               next.Subject,
		NotBefore:             notBefore,
		NotAfter:              notAfter,
		SubjectKeyId:          next.SubjectKeyId,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	certificate, err := sign(template, a.Certificate, next.PublicKey, a.key)
	if err != nil {
		return nil, fmt.Errorf("cross-signing the next certificate authority: %w", err)
	}
	return certificate, nil
}

// KeyPEM returns the private key of the authority as a PKCS #8 PEM block.
func (a *Authority) KeyPEM() ([]byte, error) {
	return EncodeKey(a.key)
}

func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generating a key: %w", err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		return nil, nil, fmt.Errorf("encoding a public key: %w", err)
	}
	digest := sha256.Sum256(point)
	return key, digest[:subjectKeyIDLength], nil
}

// sign fills in a random serial number (the standard library does, when there is none) and the
// authority key identifier.
func sign(template, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// checkCanSign accepts what other tools made as well, as long as it is a CA in the eyes of clients.
func checkCanSign(certificate *x509.Certificate) error {
	if !certificate.BasicConstraintsValid || !certificate.IsCA {
		return fmt.Errorf("certificate %q is no CA: %w", certificate.Subject, ErrUnusable)
	}
	if certificate.KeyUsage != 0 && certificate.KeyUsage&x509.KeyUsageCertSign == 0 {
		return fmt.Errorf("certificate %q may not sign certificates: %w", certificate.Subject, ErrUnusable)
	}
	if err := certificate.CheckSignatureFrom(certificate); err != nil {
		return fmt.Errorf("certificate %q is not self-signed: %w: %w", certificate.Subject, ErrUnusable, err)
	}
	return nil
}

func samePublicKey(a, b crypto.PublicKey) bool {
	key, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && key.Equal(b)
}
