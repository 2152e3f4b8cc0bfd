// SPDX-License-Identifier: Apache-2.0

//go:build unix

package faults

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/milepost-dev/milepost/controller/internal/reportlink"
	"github.com/milepost-dev/milepost/controller/internal/servingcert"
	"github.com/milepost-dev/milepost/controller/internal/servingcert/authority"
	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
)

// oddLeaf is a server certificate that clients take for a short time or not yet.
type oddLeaf struct {
	// from and until are its life, counted from now.
	from, until time.Duration
	// watched is how long reports go on after it was put into the Secret.
	watched time.Duration
}

var oddLeaves = map[string]oddLeaf{
	"ten seconds left": {from: -time.Hour, until: 10 * time.Second, watched: 12 * time.Second},
	"valid in ten minutes, made by a replica whose clock is ahead": {from: 10 * time.Minute, until: time.Hour, watched: 3 * time.Second},
}

// TestServerCertificateThatIsOfNoUse puts such a certificate into the Secret under
// clients that connect anew for each report.
func TestServerCertificateThatIsOfNoUse(t *testing.T) {
	for name, leaf := range oddLeaves {
		t.Run(name, func(t *testing.T) { testLeaf(t, require(t), leaf) })
	}
}

func testLeaf(t *testing.T, s *site, leaf oddLeaf) {
	m := s.manager(t, s.plane.Config, livemanager.Options{})
	trust := newTrust(t, m)
	f := launch(t, plan{jobs: s.jobs, client: reconnecting(fixed(trust)), address: m.Address()})
	rate := f.flow(t)
	begun := time.Now()
	old := s.installLeaf(t, begun.Add(leaf.from), begun.Add(leaf.until))
	took := eventually(t, patience, "another server certificate stored and served", func() error {
		if serial(s.certificates(t)) == old || servedSerial(t, m, trust) == old {
			return errNone
		}
		return nil
	})
	during(t, time.Until(begun.Add(leaf.watched)))
	f.stop()
	if lost := failed(f.since(0)); len(lost) > 0 {
		t.Errorf("%d reports failed: %s", len(lost), describe(lost))
	}
	if leaf.until > 0 && took > leaf.until {
		t.Errorf("it was replaced after %s", took)
	}
	s.note(t, "under %.0f reports/s, each over a new connection; replaced within %s; none of %d reports failed",
		rate, took.Round(time.Millisecond), len(f.since(0)))
}

// installLeaf puts a server certificate of the present CA into the Secret and
// returns its serial number.
func (s *site) installLeaf(t *testing.T, from, until time.Time) string {
	t.Helper()
	data := s.certificates(t)
	signer, err := authority.Parse(authority.ParseCertificates(data[servingcert.KeyCACert]), data[servingcert.KeyCAKey])
	if err != nil {
		t.Fatal(err)
	}
	host := reportlink.ServiceHost("kubeflow-trainer-controller-manager", livemanager.Namespace)
	leaf, key, err := signer.Issue(authority.Leaf{CommonName: "kubeflow-trainer", DNSNames: []string{host}, NotBefore: from, NotAfter: until})
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := authority.EncodeKey(key)
	if err != nil {
		t.Fatal(err)
	}
	s.changeSecret(t, func(secret *corev1.Secret) {
		secret.Data[servingcert.KeyTLSCert] = authority.EncodeCertificates(leaf)
		secret.Data[servingcert.KeyTLSKey] = encoded
	})
	return leaf.SerialNumber.String()
}
