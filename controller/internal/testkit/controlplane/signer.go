// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"os"
	"slices"
)

const keyBits = 2048

// Signer holds what the API server signs service account tokens with.
type Signer struct {
	// Issuer is the issuer claim.
	Issuer string
	// KeyID is the id under which the API server publishes the key.
	KeyID string
	Key   *rsa.PrivateKey
}

func newSigner(issuer string) (Signer, error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return Signer{}, fmt.Errorf("making the key of tokens: %w", err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return Signer{}, fmt.Errorf("encoding the key of tokens: %w", err)
	}
	sum := sha256.Sum256(der)
	return Signer{Issuer: issuer, KeyID: base64.RawURLEncoding.EncodeToString(sum[:]), Key: key}, nil
}

func (s Signer) pem() (private, public []byte, err error) {
	der, err := x509.MarshalPKIXPublicKey(s.Key.Public())
	if err != nil {
		return nil, nil, fmt.Errorf("encoding the key of tokens: %w", err)
	}
	private = pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(s.Key)})
	public = pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	return private, public, nil
}

// RotateKeys has the API server sign tokens with another key from now on. It
// still honours and publishes those before. The API server is away meanwhile.
func (p *Plane) RotateKeys(ctx context.Context) error {
	next, err := newSigner(p.Signer.Issuer)
	if err != nil {
		return err
	}
	honoured := slices.Concat(p.honoured, []Signer{p.Signer})
	if err := p.writeKeys(next, honoured...); err != nil {
		return err
	}
	p.honoured = honoured
	if err := p.Kill(); err != nil {
		return err
	}
	p.Signer = next
	return p.Restart(ctx)
}

// writeKeys writes the key that signs, and all that are honoured.
func (p *Plane) writeKeys(signer Signer, honoured ...Signer) error {
	private, _, err := signer.pem()
	if err != nil {
		return err
	}
	var all bytes.Buffer
	for _, s := range append([]Signer{signer}, honoured...) {
		_, public, err := s.pem()
		if err != nil {
			return err
		}
		all.Write(public)
	}
	for name, content := range map[string][]byte{keyFile: private, publicFile: all.Bytes()} {
		if err := os.WriteFile(p.file(name), content, 0o600); err != nil {
			return fmt.Errorf("writing keys: %w", err)
		}
	}
	return nil
}
