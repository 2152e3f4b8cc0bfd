// SPDX-License-Identifier: Apache-2.0

//go:build unix

package faults

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/milepost-dev/milepost/controller/internal/servingcert"
	"github.com/milepost-dev/milepost/controller/internal/servingcert/authority"
	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
)

// certificateSecret is where the manager keeps its certificates.
const certificateSecret = "kubeflow-trainer-webhook-cert"

// untilRenewal is how long the CA of the test goes before it gets a successor.
const untilRenewal = 8 * time.Second

// TestCertificatesRotate renews the CA and then the server certificate under
// clients that connect anew for each report: some trust for ever what they read
// at their start, others read the bundle again.
func TestCertificatesRotate(t *testing.T) {
	s := require(t)
	due := s.installOldAuthority(t)
	m := s.manager(t, s.plane.Config, livemanager.Options{})
	half := len(s.jobs) / 2
	cached := launch(t, plan{jobs: s.jobs[:half], rate: offered / 2, client: reconnecting(fixed(newTrust(t, m))), address: m.Address()})
	reader := followBundle(t, m)
	fresh := launch(t, plan{jobs: s.jobs[half:], rate: offered / 2, client: reconnecting(reader), address: m.Address()})
	rate := cached.flow(t, fresh)
	first := s.certificates(t)
	if !time.Now().Before(due) {
		t.Fatal("void: the traffic began after the CA was due")
	}
	during(t, time.Until(due)+time.Second)
	s.touchSecret(t) // the keeper looks at once instead of within a minute
	eventually(t, patience, "CA renewed", func() error {
		if n := len(authority.ParseCertificates(s.certificates(t)[servingcert.KeyCACert])); n != 2 {
			return fmt.Errorf("the bundle holds %d", n)
		}
		return nil
	})
	during(t, 3*time.Second)
	second := s.certificates(t)
	s.dropLeaf(t)
	eventually(t, patience, "server certificate renewed", func() error {
		now := string(s.certificates(t)[servingcert.KeyTLSCert])
		if now == "" || now == string(second[servingcert.KeyTLSCert]) {
			return errNone
		}
		return nil
	})
	during(t, 3*time.Second)
	served := servedSerial(t, m, reader())
	cached.stop()
	fresh.stop()
	for _, data := range []map[string][]byte{first, second} {
		if served == serial(data) {
			t.Error("the manager still serves a certificate that was replaced")
		}
	}
	for name, f := range map[string]*fleet{"that cached the CA": cached, "that read the bundle again": fresh} {
		if lost := failed(f.since(0)); len(lost) > 0 {
			t.Errorf("%d reports of clients %s failed: %s", len(lost), name, describe(lost))
		}
	}
	s.note(t, "under %.0f reports/s, each over a new connection; CA, then server certificate replaced; %d reports of clients with a cached CA and %d of others, none failed",
		rate, len(cached.since(0)), len(fresh.since(0)))
}

// installOldAuthority puts a CA into the Secret that is due for renewal soon.
func (s *site) installOldAuthority(t *testing.T) (due time.Time) {
	t.Helper()
	now := time.Now()
	due = now.Add(untilRenewal)
	old, err := authority.New(authority.Name{CommonName: "kubeflow-trainer-ca", Organization: "kubeflow-trainer"},
		now.Add(-time.Hour), due.Add(servingcert.DefaultCARenewBefore))
	if err != nil {
		t.Fatal(err)
	}
	key, err := old.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	s.changeSecret(t, func(secret *corev1.Secret) {
		secret.Data = map[string][]byte{
			servingcert.KeyCACert: authority.EncodeCertificates(old.Certificate), servingcert.KeyCAKey: key,
		}
	})
	return due
}

// dropLeaf makes the server certificate unusable. What stands behind it in the
// chain stays, as in a renewal before its end: it is what clients of the old CA
// trust.
func (s *site) dropLeaf(t *testing.T) {
	t.Helper()
	s.changeSecret(t, func(secret *corev1.Secret) { delete(secret.Data, servingcert.KeyTLSKey) })
}

func (s *site) touchSecret(t *testing.T) {
	t.Helper()
	s.changeSecret(t, func(secret *corev1.Secret) {
		metav1.SetMetaDataAnnotation(&secret.ObjectMeta, "faults.milepost.dev/touched", time.Now().Format(time.RFC3339Nano))
	})
}

func (s *site) changeSecret(t *testing.T, change func(*corev1.Secret)) {
	t.Helper()
	eventually(t, patience, "Secret changed", func() error {
		secret, err := s.secret(t.Context())
		if err != nil {
			return err
		}
		change(secret)
		return s.api.Update(t.Context(), secret)
	})
}

func (s *site) secret(ctx context.Context) (*corev1.Secret, error) {
	var secret corev1.Secret
	err := s.api.Get(ctx, client.ObjectKey{Namespace: livemanager.Namespace, Name: certificateSecret}, &secret)
	return &secret, err
}

func (s *site) certificates(t *testing.T) map[string][]byte {
	t.Helper()
	secret, err := s.secret(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return secret.Data
}

func newTrust(t *testing.T, m *livemanager.Manager) *tls.Config {
	t.Helper()
	trust, err := m.TLS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return trust
}

func fixed(trust *tls.Config) func() *tls.Config { return func() *tls.Config { return trust } }

// followBundle reads the CA bundle again and again, as a pod whose file kubelet
// renews.
func followBundle(t *testing.T, m *livemanager.Manager) func() *tls.Config {
	t.Helper()
	held := newTrust(t, m)
	var mu sync.Mutex
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(poll)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			if now, err := m.TLS(ctx); err == nil {
				mu.Lock()
				held = now
				mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return func() *tls.Config {
		mu.Lock()
		defer mu.Unlock()
		return held
	}
}

// trusting is a transport that connects anew for each request, with the trust of
// the moment.
type trusting struct{ trust func() *tls.Config }

func (r trusting) RoundTrip(req *http.Request) (*http.Response, error) {
	transport := &http.Transport{TLSClientConfig: r.trust(), DisableKeepAlives: true}
	return transport.RoundTrip(req)
}

func reconnecting(trust func() *tls.Config) func() *http.Client {
	return func() *http.Client { return &http.Client{Timeout: clientTimeout, Transport: trusting{trust}} }
}

// servedSerial is the serial number of the certificate that the manager shows.
func servedSerial(t *testing.T, m *livemanager.Manager, trust *tls.Config) string {
	t.Helper()
	conn, err := (&tls.Dialer{Config: trust}).DialContext(t.Context(), "tcp", m.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String()
}

func serial(data map[string][]byte) string {
	list := authority.ParseCertificates(data[servingcert.KeyTLSCert])
	if len(list) == 0 {
		list = []*x509.Certificate{{}}
	}
	return fmt.Sprint(list[0].SerialNumber)
}
