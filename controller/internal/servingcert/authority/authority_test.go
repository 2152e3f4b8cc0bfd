// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/milepost-dev/milepost/controller/internal/servingcert/authority"
)

var (
	issued  = time.Date(2030, time.March, 1, 12, 0, 0, 0, time.UTC)
	expires = issued.AddDate(10, 0, 0)
	name    = authority.Name{CommonName: "kubeflow-trainer-ca", Organization: "kubeflow-trainer"}
)

const host = "kubeflow-trainer-controller-manager.kubeflow-system.svc"

// chains holds what a rotation leaves behind: the old CA, the new one, the new one signed by the old
// one, and a server certificate of the new one.
type chains struct{ old, next, bridge, leaf *x509.Certificate }

func makeChains(t *testing.T) chains {
	t.Helper()
	old := mustNew(t)
	next := mustNew(t)
	bridge, err := old.CrossSign(next.Certificate, issued)
	if err != nil {
		t.Fatal(err)
	}
	leaf, _, err := next.Issue(authority.Leaf{
		CommonName: "kubeflow-trainer", DNSNames: []string{host}, NotBefore: issued, NotAfter: issued.AddDate(1, 0, 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	return chains{old: old.Certificate, next: next.Certificate, bridge: bridge, leaf: leaf}
}

func mustNew(t *testing.T) *authority.Authority {
	t.Helper()
	created, err := authority.New(name, issued, expires)
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func TestCertificatesCarryTheExtensionsThatStrictClientsAskFor(t *testing.T) {
	made := makeChains(t)
	for role, certificate := range map[string]*x509.Certificate{"old CA": made.old, "new CA": made.next, "bridge": made.bridge} {
		t.Run(role, func(t *testing.T) {
			if !certificate.BasicConstraintsValid || !certificate.IsCA {
				t.Error("is not marked as a CA")
			}
			if certificate.KeyUsage != x509.KeyUsageCertSign|x509.KeyUsageCRLSign {
				t.Errorf("key usage is %b", certificate.KeyUsage)
			}
			if len(certificate.SubjectKeyId) != 20 {
				t.Errorf("subject key identifier has %d bytes, want 20", len(certificate.SubjectKeyId))
			}
			if !criticalExtension(certificate, 19) || !criticalExtension(certificate, 15) {
				t.Error("basic constraints and key usage must be critical")
			}
		})
	}
}

func TestTheLeafIsAServerCertificateThatNamesItsIssuer(t *testing.T) {
	made := makeChains(t)
	if got := made.leaf.KeyUsage; got != x509.KeyUsageDigitalSignature {
		t.Errorf("leaf key usage is %b", got)
	}
	if diff := cmp.Diff([]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, made.leaf.ExtKeyUsage); diff != "" {
		t.Errorf("leaf extended key usage (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(made.next.SubjectKeyId, made.leaf.AuthorityKeyId); diff != "" {
		t.Errorf("leaf authority key identifier (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(made.old.SubjectKeyId, made.bridge.AuthorityKeyId); diff != "" {
		t.Errorf("bridge authority key identifier (-want +got):\n%s", diff)
	}
	if made.old.Subject.String() == made.next.Subject.String() {
		t.Error("two authorities share a subject, so the bridge looks self-issued")
	}
	if key, ok := made.leaf.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
		t.Errorf("leaf key is %T, want ECDSA P-256", made.leaf.PublicKey)
	}
}

func TestEitherAuthorityIsEnoughToTrustTheLeaf(t *testing.T) {
	made := makeChains(t)
	for trusted, root := range map[string]*x509.Certificate{"only the old CA": made.old, "only the new CA": made.next} {
		t.Run(trusted, func(t *testing.T) {
			roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
			roots.AddCert(root)
			intermediates.AddCert(made.bridge)
			_, err := made.leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, Intermediates: intermediates, CurrentTime: issued})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOpenSSLAcceptsTheCertificatesWithStrictChecks(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not installed")
	}
	made := makeChains(t)
	dir := t.TempDir()
	for file, certificate := range map[string]*x509.Certificate{
		"old": made.old, "new": made.next, "bridge": made.bridge, "leaf": made.leaf,
	} {
		if err := os.WriteFile(filepath.Join(dir, file), authority.EncodeCertificates(certificate), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for trusted, tc := range map[string]struct {
		args    []string
		wantErr bool
	}{
		"only the old CA":                    {args: []string{"-CAfile", "old", "-untrusted", "bridge"}},
		"only the new CA":                    {args: []string{"-CAfile", "new", "-untrusted", "bridge"}},
		"only the old CA and no bridge sent": {args: []string{"-CAfile", "old"}, wantErr: true},
	} {
		t.Run(trusted, func(t *testing.T) {
			args := append([]string{
				"verify", "-x509_strict", "-no-CApath", "-no-CAstore", "-purpose", "sslserver",
				"-verify_hostname", host, "-attime", strconv.FormatInt(issued.Add(time.Hour).Unix(), 10),
			}, tc.args...)
			command := exec.CommandContext(t.Context(), openssl, append(args, "leaf")...)
			command.Dir = dir
			output, err := command.CombinedOutput()
			if gotErr := err != nil; gotErr != tc.wantErr {
				t.Errorf("openssl %v: error %v, want error %t\n%s", args, err, tc.wantErr, output)
			}
		})
	}
}

func TestABridgeLivesNoLongerThanTheAuthorityThatSignedIt(t *testing.T) {
	old, err := authority.New(name, issued, issued.AddDate(1, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	bridge, err := old.CrossSign(mustNew(t).Certificate, issued)
	if err != nil {
		t.Fatal(err)
	}
	if want := old.Certificate.NotAfter; !bridge.NotAfter.Equal(want) {
		t.Errorf("bridge ends at %s, want %s", bridge.NotAfter, want)
	}
}

func TestParse(t *testing.T) {
	created := mustNew(t)
	keyPEM, err := created.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	leaf, leafKey, err := created.Issue(authority.Leaf{CommonName: "leaf", NotBefore: issued, NotAfter: expires})
	if err != nil {
		t.Fatal(err)
	}
	leafKeyPEM, err := authority.EncodeKey(leafKey)
	if err != nil {
		t.Fatal(err)
	}
	rsaCA, rsaKeyPEM := foreignRSA(t)

	for behaviour, tc := range map[string]struct {
		bundle  []*x509.Certificate
		key     []byte
		want    *x509.Certificate
		wantErr bool
	}{
		"the CA that belongs to the key is found behind another one": {
			bundle: []*x509.Certificate{mustNew(t).Certificate, created.Certificate}, key: keyPEM, want: created.Certificate,
		},
		"an RSA CA with an older key form is usable": {bundle: []*x509.Certificate{rsaCA}, key: rsaKeyPEM, want: rsaCA},
		"a key without its certificate is refused":   {bundle: []*x509.Certificate{mustNew(t).Certificate}, key: keyPEM, wantErr: true},
		"a certificate that is no CA is refused":     {bundle: []*x509.Certificate{leaf}, key: leafKeyPEM, wantErr: true},
		"an empty key is refused":                    {bundle: []*x509.Certificate{created.Certificate}, wantErr: true},
		"a broken key is refused": {
			bundle: []*x509.Certificate{created.Certificate}, key: []byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), wantErr: true,
		},
	} {
		t.Run(behaviour, func(t *testing.T) {
			got, err := authority.Parse(tc.bundle, tc.key)
			if tc.wantErr {
				if !errors.Is(err, authority.ErrUnusable) {
					t.Fatalf("error is %v, want ErrUnusable", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !got.Certificate.Equal(tc.want) {
				t.Errorf("found %q, want %q", got.Certificate.Subject, tc.want.Subject)
			}
		})
	}
}

func TestParseCertificatesLeavesBadBlocksOut(t *testing.T) {
	first, second := mustNew(t).Certificate, mustNew(t).Certificate
	text := authority.EncodeCertificates(first)
	text = append(text, "words between the blocks\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"...)
	text = append(text, authority.EncodeCertificates(second)...)

	got := authority.ParseCertificates(text)
	if len(got) != 2 || !got[0].Equal(first) || !got[1].Equal(second) {
		t.Errorf("read %d certificates, want the two good ones in their order", len(got))
	}
}

func criticalExtension(certificate *x509.Certificate, arc int) bool {
	for _, extension := range certificate.Extensions {
		if extension.Id.Equal([]int{2, 5, 29, arc}) {
			return extension.Critical
		}
	}
	return false
}

// foreignRSA makes a CA in the way that older releases of Kubeflow Trainer left it in the Secret.
func foreignRSA(t *testing.T) (*x509.Certificate, []byte) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubeflow-trainer-ca"},
		NotBefore: issued, NotAfter: expires, BasicConstraintsValid: true, IsCA: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}
