// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/milepost-dev/milepost/controller/internal/servingcert/authority"
)

const (
	validator = "validator.trainer.kubeflow.org"
	defaulter = "defaulter.trainer.kubeflow.org"
	host      = "kubeflow-trainer-controller-manager.kubeflow-system.svc"
)

var (
	secretKey = types.NamespacedName{Namespace: "kubeflow-system", Name: "kubeflow-trainer-webhook-cert"}
	start     = time.Date(2030, time.March, 1, 12, 0, 0, 0, time.UTC)
	// short keeps the proportions of the defaults.
	short = Lifetimes{CA: 100 * time.Hour, CARenewBefore: 30 * time.Hour, Leaf: 20 * time.Hour, LeafRenewBefore: 5 * time.Hour, Backdate: time.Hour}
)

func testConfig(clock *clocktesting.FakeClock) Config {
	return Config{
		Secret: secretKey, Service: "kubeflow-trainer-controller-manager", ClusterDomain: "cluster.local",
		ValidatingWebhook: validator, MutatingWebhook: defaulter,
		Manage: true, Lifetimes: short, Clock: clock,
	}
}

func newKeeper(t *testing.T, config Config, api client.WithWatch) *Keeper {
	t.Helper()
	keeper, err := New(config, api)
	if err != nil {
		t.Fatal(err)
	}
	return keeper
}

// fakeAPI stands for the API server: it keeps resource versions, refuses writes with an old one, and
// sends watch events. The same behaviour against a real one is shown by the envtest suite.
func fakeAPI(objects ...client.Object) client.WithWatch {
	return fake.NewClientBuilder().WithObjects(objects...).Build()
}

func emptySecret() *corev1.Secret { return secretWith(nil) }

func secretWith(data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secretKey.Namespace, Name: secretKey.Name}, Data: data}
}

func webhookConfigurations() []client.Object {
	return []client.Object{
		&admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: validator},
			Webhooks:   []admissionregistrationv1.ValidatingWebhook{{Name: "one.example"}, {Name: "two.example"}},
		},
		&admissionregistrationv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: defaulter},
			Webhooks:   []admissionregistrationv1.MutatingWebhook{{Name: "three.example"}},
		},
	}
}

func storedData(t *testing.T, api client.Client) map[string][]byte {
	t.Helper()
	secret := &corev1.Secret{}
	if err := api.Get(t.Context(), secretKey, secret); err != nil {
		t.Fatal(err)
	}
	return secret.Data
}

// storedBundles returns the caBundle of every webhook.
func storedBundles(ctx context.Context, api client.Client) ([][]byte, error) {
	var bundles [][]byte
	for name, configuration := range map[string]client.Object{
		validator: &admissionregistrationv1.ValidatingWebhookConfiguration{}, defaulter: &admissionregistrationv1.MutatingWebhookConfiguration{},
	} {
		if err := api.Get(ctx, client.ObjectKey{Name: name}, configuration); err != nil {
			return nil, err
		}
		for _, webhook := range clientConfigs(configuration) {
			bundles = append(bundles, webhook.CABundle)
		}
	}
	return bundles, nil
}

// served is an HTTPS server that answers handshakes from a Keeper.
type served struct{ address string }

func serveTLS(t *testing.T, getCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)) served {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	listener := tls.NewListener(server.Listener, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: getCertificate})
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return served{address: listener.Addr().String()}
}

// call makes one request over a new connection as a client that trusts the given PEM bundle, whose
// clock shows now.
func (s served) call(bundle []byte, now time.Time) error {
	roots := x509.NewCertPool()
	for _, certificate := range authority.ParseCertificates(bundle) {
		roots.AddCert(certificate)
	}
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, network, s.address)
		},
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, Time: func() time.Time { return now }},
	}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Get("https://" + host)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

func firstCertificate(bundle []byte) []byte {
	return authority.EncodeCertificates(authority.ParseCertificates(bundle)[0])
}

func allEqual(bundles [][]byte, want []byte) bool {
	for _, bundle := range bundles {
		if !bytes.Equal(bundle, want) {
			return false
		}
	}
	return true
}
