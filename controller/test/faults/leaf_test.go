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

// leafLeft is what the server certificate of the test has left.
const leafLeft = 10 * time.Second

// TestServerCertificateWithTenSecondsLeft puts a certificate into the Secret that
// ends soon, under clients that connect anew for each report.
func TestServerCertificateWithTenSecondsLeft(t *testing.T) {
	s := require(t)
	m := s.manager(t, s.plane.Config, livemanager.Options{})
	trust := newTrust(t, m)
	f := launch(t, plan{jobs: s.jobs, client: reconnecting(fixed(trust)), address: m.Address()})
	rate := f.flow(t)
	expires := time.Now().Add(leafLeft)
	old := s.installLeaf(t, expires.Add(-time.Hour), expires)
	took := eventually(t, leafLeft, "another server certificate served", func() error {
		if now := servedSerial(t, m, trust); now == old || serial(s.certificates(t)) == old {
			return errNone
		}
		return nil
	})
	during(t, time.Until(expires)+2*time.Second)
	f.stop()
	if lost := failed(f.since(0)); len(lost) > 0 {
		t.Errorf("%d reports failed: %s", len(lost), describe(lost))
	}
	s.note(t, "under %.0f reports/s, each over a new connection; a server certificate with %s left replaced within %s; none of %d reports failed, before or after its end",
		rate, leafLeft, took.Round(time.Millisecond), len(f.since(0)))
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
