// SPDX-License-Identifier: Apache-2.0

//go:build unix

package faults

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// injector stands between the manager and the API server. It counts requests and
// answers some of them with an injected error, which a healthy API server cannot
// be made to send. Everything else is the real API server's.
type injector struct {
	server *httptest.Server
	config *rest.Config

	mu     sync.Mutex
	counts map[string]int
	inject func(*http.Request) (code int, retryAfter string)
	// late holds watches of pods and their owners back until it is closed; nil
	// lets them pass.
	late chan struct{}
}

const (
	statusWrites = "status writes"
	keyFetches   = "key fetches"
	lookUps      = "look-ups"

	keysPath      = "/openid/v1/jwks"
	discoveryPath = "/.well-known/openid-configuration"
)

func newInjector(t *testing.T, api *rest.Config) *injector {
	t.Helper()
	target, err := url.Parse(api.Host)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(api.CAData) {
		t.Fatal("the API server has no certificate")
	}
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1, // watches deliver one event at a time
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: 64},
		ErrorLog:      log.New(io.Discard, "", 0),
	}
	i := &injector{counts: map[string]int{}}
	forward.ModifyResponse = func(r *http.Response) error {
		if isOwnerWatch(r.Request) {
			r.Body = &lateBody{ReadCloser: r.Body, injector: i, closed: make(chan struct{})}
		}
		return nil
	}
	i.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code, retryAfter := i.decide(r); code != 0 {
			fail(w, code, retryAfter)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	i.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	i.server.StartTLS()
	t.Cleanup(func() {
		i.server.CloseClientConnections() // watches have no end of their own
		i.server.Close()
	})
	i.config = rest.CopyConfig(api)
	i.config.Host = i.server.URL
	i.config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.server.Certificate().Raw})
	return i
}

// decide counts a request and says what it is answered with; 0 passes it on.
func (i *injector) decide(r *http.Request) (code int, retryAfter string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case isStatusWrite(r):
		i.counts[statusWrites]++
	case r.URL.Path == keysPath:
		i.counts[keyFetches]++
	case strings.HasPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name="):
		i.counts[lookUps]++
	}
	if i.inject == nil {
		return 0, ""
	}
	return i.inject(r)
}

func isStatusWrite(r *http.Request) bool {
	return r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/trainjobs/") && strings.HasSuffix(r.URL.Path, "/status")
}

// answerWith changes what is injected; nil ends it.
func (i *injector) answerWith(inject func(*http.Request) (code int, retryAfter string)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.inject = inject
}

func (i *injector) count(what string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.counts[what]
}

// fail answers as the API server words its errors.
func fail(w http.ResponseWriter, code int, retryAfter string) {
	reasons := map[int]metav1.StatusReason{
		http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests, http.StatusConflict: metav1.StatusReasonConflict,
		http.StatusGone: metav1.StatusReasonGone, http.StatusInternalServerError: metav1.StatusReasonInternalError,
		http.StatusGatewayTimeout: metav1.StatusReasonTimeout,
	}
	w.Header().Set("Content-Type", "application/json")
	if retryAfter != "" {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reasons[code], Message: fmt.Sprintf("injected %d", code), //nolint:gosec // codes are small
	})
}

// isOwnerWatch tells whether a request watches pods, Jobs, JobSets or TrainJobs.
func isOwnerWatch(r *http.Request) bool {
	name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	return r.URL.Query().Get("watch") != "" && slices.Contains([]string{"pods", "jobs", "jobsets", "trainjobs"}, name)
}

// delayWatches holds back what watches of pods and their owners say from now on.
// The function that it returns lets them go.
func (i *injector) delayWatches() (release func()) {
	late := make(chan struct{})
	i.mu.Lock()
	defer i.mu.Unlock()
	i.late = late
	return sync.OnceFunc(func() { close(late) })
}

// lateBody is a watch that can be held back.
type lateBody struct {
	io.ReadCloser
	injector *injector
	once     sync.Once
	closed   chan struct{}
}

// Read passes on what came, once it may.
func (b *lateBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.injector.mu.Lock()
	late := b.injector.late
	b.injector.mu.Unlock()
	if late == nil {
		return n, err
	}
	select {
	case <-late:
	case <-b.closed:
	}
	return n, err
}

// Close ends the wait of a Read.
func (b *lateBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.ReadCloser.Close()
}
