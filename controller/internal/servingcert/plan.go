// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/servingcert/authority"
)

// Keys of the Secret.
const (
	KeyCACert  = "ca.crt"
	KeyCAKey   = "ca.key"
	KeyTLSCert = "tls.crt"
	KeyTLSKey  = "tls.key"
	// KeyBridge holds the bridges between the CAs of ca.crt; absent or empty when there is one CA.
	KeyBridge = "bridge.crt"
)

// caName is what the contract says the subject of the CA is.
var caName = authority.Name{CommonName: "kubeflow-trainer-ca", Organization: "kubeflow-trainer"}

const leafCommonName = "kubeflow-trainer"

// planner decides what has to change in the Secret. It has no client and no clock of its own.
type planner struct {
	dnsNames  []string
	lifetimes Lifetimes
}

// plan is a set of keys to write, with the reasons for people to read. Empty keys: nothing to do.
type plan struct {
	keys    map[string][]byte
	reasons []string
}

func (p *plan) set(key string, value []byte) {
	if p.keys == nil {
		p.keys = map[string][]byte{}
	}
	p.keys[key] = value
}

// state is the Secret's content as far as it can be read, changed step by step by the planner.
type state struct {
	bundle []*x509.Certificate  // trusted CA certificates, the signing one first
	signer *authority.Authority // nil when there is none to sign with
	chain  []*x509.Certificate  // leaf, then bridges from the signing CA to an older one
	// bridges are all that lead from one CA of the bundle to another.
	bridges []*x509.Certificate
}

// renew returns what has to be written so that the certificates are good at now and stay so until
// the next look. It changes as little as it can.
func (p planner) renew(data map[string][]byte, now time.Time) (plan, error) {
	var next plan
	current := readState(data)

	p.dropExpired(&current, now, &next)
	current.bridges = readBridges(data, current.bundle, current.chain, now)
	bridge, err := p.renewAuthority(&current, now, &next)
	if err != nil {
		return plan{}, err
	}
	reason := p.leafProblem(current, data, now)
	if bridge != nil {
		current.bridges = append([]*x509.Certificate{bridge}, current.bridges...)
		if reason == "" {
			reason = "certificate authority has a successor"
		}
	}
	keepBridges(data, current, &next)
	if reason == "" {
		completeChain(&current, &next)
		return next, nil
	}
	if err := p.renewLeaf(&current, now, &next); err != nil {
		return plan{}, err
	}
	next.reasons = append(next.reasons, reason)
	return next, nil
}

func readState(data map[string][]byte) state {
	current := state{
		bundle: slices.DeleteFunc(authority.ParseCertificates(data[KeyCACert]), func(c *x509.Certificate) bool { return !c.IsCA }),
		chain:  authority.ParseCertificates(data[KeyTLSCert]),
	}
	// A CA that cannot be used is one that has to be replaced; why it cannot does not matter here.
	current.signer, _ = authority.Parse(current.bundle, data[KeyCAKey])
	return current
}

// dropExpired takes expired CAs out of the bundle, and expired bridges out of the chain.
func (p planner) dropExpired(current *state, now time.Time, next *plan) {
	expired := func(c *x509.Certificate) bool { return now.After(c.NotAfter) }
	if slices.ContainsFunc(current.bundle, expired) {
		current.bundle = slices.DeleteFunc(current.bundle, expired)
		next.set(KeyCACert, authority.EncodeCertificates(current.bundle...))
		next.reasons = append(next.reasons, "a certificate authority has expired")
	}
	if current.signer != nil && expired(current.signer.Certificate) {
		current.signer = nil
	}
	if len(current.chain) > 1 && slices.ContainsFunc(current.chain[1:], expired) {
		leaf := current.chain[0]
		current.chain = append([]*x509.Certificate{leaf}, slices.DeleteFunc(current.chain[1:], expired)...)
		next.set(KeyTLSCert, authority.EncodeCertificates(current.chain...))
	}
}

// renewAuthority adds a new CA in front of the bundle when the present one nears its end or cannot
// sign. It returns the new CA's certificate signed by the present one, where that is possible.
func (p planner) renewAuthority(current *state, now time.Time, next *plan) (*x509.Certificate, error) {
	reason := "no usable certificate authority"
	if old := current.signer; old != nil {
		if now.Before(old.Certificate.NotAfter.Add(-p.lifetimes.CARenewBefore)) {
			return nil, nil
		}
		reason = "certificate authority nears its end"
	}
	created, err := authority.New(caName, now.Add(-p.lifetimes.Backdate), now.Add(p.lifetimes.CA))
	if err != nil {
		return nil, fmt.Errorf("creating a certificate authority: %w", err)
	}
	key, err := created.KeyPEM()
	if err != nil {
		return nil, err
	}
	var bridge *x509.Certificate
	if current.signer != nil {
		bridge, err = current.signer.CrossSign(created.Certificate, now.Add(-p.lifetimes.Backdate))
		if err != nil {
			return nil, err
		}
	}
	current.signer = created
	current.bundle = append([]*x509.Certificate{created.Certificate}, current.bundle...)
	next.set(KeyCACert, authority.EncodeCertificates(current.bundle...))
	next.set(KeyCAKey, key)
	next.reasons = append(next.reasons, reason)
	return bridge, nil
}

// renewLeaf issues a server certificate. Bridges from the signing CA are put behind it: a leaf renewed
// during the overlap needs them as much as the first one did.
func (p planner) renewLeaf(current *state, now time.Time, next *plan) error {
	leaf, signer, err := current.signer.Issue(authority.Leaf{
		CommonName: leafCommonName,
		DNSNames:   p.dnsNames,
		NotBefore:  now.Add(-p.lifetimes.Backdate),
		NotAfter:   now.Add(p.lifetimes.Leaf),
	})
	if err != nil {
		return err
	}
	key, err := authority.EncodeKey(signer)
	if err != nil {
		return err
	}
	chain := append([]*x509.Certificate{leaf}, current.bridgesOf(leaf)...)
	next.set(KeyTLSCert, authority.EncodeCertificates(chain...))
	next.set(KeyTLSKey, key)
	return nil
}

// leafProblem says why the server certificate has to be replaced, or nothing. A leaf of an older CA
// of the bundle is good until its own end: clients which know only that CA still depend on it when
// the CA's key was lost and no bridge could be made.
func (p planner) leafProblem(current state, data map[string][]byte, now time.Time) string {
	if _, err := tls.X509KeyPair(data[KeyTLSCert], data[KeyTLSKey]); err != nil {
		return "no usable server certificate"
	}
	leaf := current.chain[0]
	if !now.Before(leaf.NotAfter.Add(-p.lifetimes.LeafRenewBefore)) {
		return "server certificate nears its end"
	}
	// It comes from a replica whose clock is ahead. Ours begins earlier, and to that
	// clock is as good; where the CA has not begun either it would be of no use.
	if now.Before(leaf.NotBefore) && !now.Before(current.signer.Certificate.NotBefore) {
		return "server certificate is not valid yet"
	}
	for _, name := range p.dnsNames {
		if leaf.VerifyHostname(name) != nil {
			return "server certificate lacks a name of the Service"
		}
	}
	if !trusts(current.bundle, leaf, now) {
		return "server certificate is not trusted by the bundle"
	}
	return ""
}

// trusts verifies as clients do, except that a start in the future counts as begun: it comes from a
// replica whose clock is ahead, and replacing the certificate would not bring it nearer.
func trusts(bundle []*x509.Certificate, leaf *x509.Certificate, now time.Time) bool {
	roots := x509.NewCertPool()
	at := latest(now, leaf.NotBefore)
	for _, certificate := range bundle {
		roots.AddCert(certificate)
		at = latest(at, certificate.NotBefore)
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots:       roots,
		CurrentTime: at,
		KeyUsages:   []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return err == nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
