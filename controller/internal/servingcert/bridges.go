// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"bytes"
	"crypto/x509"
	"slices"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/servingcert/authority"
)

// readBridges returns the bridges that lead from one CA of the bundle to another. They are kept under
// a key of their own, because nobody could make them again: the key of the older CA is gone. Those in
// the chain count too, in case that key was lost.
func readBridges(data map[string][]byte, bundle, chain []*x509.Certificate, now time.Time) []*x509.Certificate {
	found := authority.ParseCertificates(data[KeyBridge])
	if len(chain) > 1 {
		found = append(found, chain[1:]...)
	}
	var bridges []*x509.Certificate
	for _, c := range found {
		if isBridge(c, bundle) && !now.After(c.NotAfter) && !slices.ContainsFunc(bridges, c.Equal) {
			bridges = append(bridges, c)
		}
	}
	return bridges
}

// isBridge tells whether a certificate says of one CA of the bundle what another one of it signed.
func isBridge(c *x509.Certificate, bundle []*x509.Certificate) bool {
	return !bytes.Equal(c.RawSubject, c.RawIssuer) &&
		slices.ContainsFunc(bundle, func(ca *x509.Certificate) bool { return bytes.Equal(ca.RawSubject, c.RawSubject) }) &&
		slices.ContainsFunc(bundle, func(ca *x509.Certificate) bool { return c.CheckSignatureFrom(ca) == nil })
}

// bridgesOf returns the bridges of the CA that a leaf is signed by.
func (s *state) bridgesOf(leaf *x509.Certificate) []*x509.Certificate {
	return slices.DeleteFunc(slices.Clone(s.bridges), func(c *x509.Certificate) bool {
		return !bytes.Equal(c.RawSubject, leaf.RawIssuer)
	})
}

// completeChain puts bridges that the chain lacks behind the leaf, which stays.
func completeChain(current *state, next *plan) {
	chain := slices.Clone(current.chain)
	for _, bridge := range current.bridgesOf(chain[0]) {
		if !slices.ContainsFunc(chain, bridge.Equal) {
			chain = append(chain, bridge)
		}
	}
	if len(chain) == len(current.chain) {
		return
	}
	current.chain = chain
	next.set(KeyTLSCert, authority.EncodeCertificates(chain...))
	next.reasons = append(next.reasons, "server certificate lacks the bridge to an older certificate authority")
}

// keepBridges writes the bridges where they are not what is stored.
func keepBridges(data map[string][]byte, current state, next *plan) {
	text := authority.EncodeCertificates(current.bridges...)
	if bytes.Equal(text, data[KeyBridge]) {
		return
	}
	next.set(KeyBridge, text)
	next.reasons = append(next.reasons, "bridges between certificate authorities have changed")
}
