// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestWriteIdentities(t *testing.T) {
	l := layout{name: "milepost", state: t.TempDir()}
	for _, dir := range []string{"pki", "kubeconfig"} {
		if err := os.Mkdir(filepath.Join(l.state, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := l.writeIdentities(now); err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(l.certificate(authority))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	for name, id := range l.identities() {
		t.Run(name, func(t *testing.T) { checkIdentity(t, l, name, id, roots, now) })
	}
	for _, user := range withKubeconfig {
		if _, err := os.Stat(l.kubeconfig(user)); err != nil {
			t.Errorf("kubeconfig of %s: %v", user, err)
		}
	}
}

func checkIdentity(t *testing.T, l layout, name string, id identity, roots *x509.CertPool, now time.Time) {
	t.Helper()
	loaded, err := tls.LoadX509KeyPair(l.certificate(name), l.key(name))
	if err != nil {
		t.Fatal(err)
	}
	options := x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := loaded.Leaf.Verify(options); err != nil {
		t.Errorf("verifying as a client: %v", err)
	}
	for _, host := range append(id.names, id.ips...) {
		if err := loaded.Leaf.VerifyHostname(host); err != nil {
			t.Errorf("serving %s: %v", host, err)
		}
	}
	if info, err := os.Stat(l.key(name)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("want a key nobody else can read, got %v and %v", info, err)
	}
}
