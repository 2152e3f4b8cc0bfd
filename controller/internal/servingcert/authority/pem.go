// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

const (
	blockCertificate = "CERTIFICATE"
	blockPKCS8Key    = "PRIVATE KEY"
	blockECKey       = "EC PRIVATE KEY"
	blockRSAKey      = "RSA PRIVATE KEY"
)

// ParseCertificates reads the certificates of a PEM text. Blocks that are no certificate, or cannot
// be read as one, are left out: one bad block must not cost the trust in the others.
func ParseCertificates(text []byte) []*x509.Certificate {
	var certificates []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != blockCertificate {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue
		}
		certificates = append(certificates, certificate)
	}
	return certificates
}

// EncodeCertificates writes certificates as PEM blocks, in their order.
func EncodeCertificates(certificates ...*x509.Certificate) []byte {
	var text bytes.Buffer
	for _, certificate := range certificates {
		text.Write(pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: certificate.Raw}))
	}
	return text.Bytes()
}

// EncodeKey writes a private key as a PKCS #8 PEM block.
func EncodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: blockPKCS8Key, Bytes: der}), nil
}

// parseKey reads the first private key of a PEM text: PKCS #8, or the older forms that other tools
// write for RSA and ECDSA keys.
func parseKey(text []byte) (crypto.Signer, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		var key any
		var err error
		switch block.Type {
		case blockPKCS8Key:
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case blockECKey:
			key, err = x509.ParseECPrivateKey(block.Bytes)
		case blockRSAKey:
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		default:
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("parsing a %s block: %w", block.Type, err)
		}
		signer, ok := key.(crypto.Signer)
		if !ok {
			return nil, fmt.Errorf("key of type %T cannot sign", key)
		}
		return signer, nil
	}
	return nil, errors.New("no private key")
}
