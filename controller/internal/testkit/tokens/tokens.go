// SPDX-License-Identifier: Apache-2.0

// Package tokens is an issuer of service account tokens for tests, with a
// server for its keys.
//
// It owns keys, claims and signatures, right ones and wrong ones. It does not
// own pods or TrainJobs: a token says what the test wants it to say.
package tokens

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
)

// The keys that an issuer starts with.
const (
	KeyRSA = "rsa-1"
	KeyEC  = "ec-1"
)

const rsaBits = 2048

// Issuer signs tokens.
type Issuer struct {
	// URL is the issuer claim.
	URL string

	t    testing.TB
	mu   sync.Mutex
	keys map[string]crypto.Signer
}

// sharedRSA is the RSA key of every new issuer in a process. Making one takes a
// tenth of a second, which adds up over hundreds of tests.
var sharedRSA = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, rsaBits) })

// New makes an issuer with one RSA key, which all issuers of a process share,
// and one ECDSA key of its own.
func New(t testing.TB, url string) *Issuer {
	t.Helper()
	i := &Issuer{URL: url, t: t, keys: map[string]crypto.Signer{}}
	key, err := sharedRSA()
	i.add(KeyRSA, key, err)
	i.AddEC(KeyEC)
	return i
}

// For returns an issuer with the same keys that fails another test. A fuzz
// target needs it, since each input is a test of its own.
func (i *Issuer) For(t testing.TB) *Issuer {
	i.mu.Lock()
	defer i.mu.Unlock()
	return &Issuer{URL: i.URL, t: t, keys: maps.Clone(i.keys)}
}

// AddRSA adds an RSA key under an id.
func (i *Issuer) AddRSA(id string) {
	i.t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, rsaBits)
	i.add(id, key, err)
}

// AddEC adds a P-256 key under an id.
func (i *Issuer) AddEC(id string) {
	i.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	i.add(id, key, err)
}

func (i *Issuer) add(id string, key crypto.Signer, err error) {
	i.t.Helper()
	if err != nil {
		i.t.Fatalf("making key %s: %v", id, err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys[id] = key
}

// Remove withdraws a key.
func (i *Issuer) Remove(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.keys, id)
}

// Key returns a signing key.
func (i *Issuer) Key(id string) crypto.Signer {
	i.t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	key, ok := i.keys[id]
	if !ok {
		i.t.Fatalf("issuer has no key %s", id)
	}
	return key
}

// Claims of a token. A nil value leaves the claim out.
type Claims map[string]any

// Pod returns the claims of a good token of a pod, valid for an hour from now.
func (i *Issuer) Pod(now time.Time, audience, namespace, pod, uid string) Claims {
	return Claims{
		"iss": i.URL, "sub": "system:serviceaccount:" + namespace + ":default", "aud": []string{audience},
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"kubernetes.io": map[string]any{
			"namespace":      namespace,
			"pod":            map[string]any{"name": pod, "uid": uid},
			"serviceaccount": map[string]any{"name": "default", "uid": "uid-of-default"},
		},
	}
}

// With returns the claims with one changed.
func (c Claims) With(name string, value any) Claims {
	out := maps.Clone(c)
	if value == nil {
		delete(out, name)
	} else {
		out[name] = value
	}
	return out
}

// Sign signs claims with the key of the id, with that id in the header.
func (i *Issuer) Sign(id string, claims Claims) string {
	i.t.Helper()
	return i.SignWith(i.Key(id), claims, map[string]any{"kid": id})
}

// SignWith signs claims with any key under any header. The algorithm follows
// from the key: HS256 for bytes, else RS256 or ES256.
func (i *Issuer) SignWith(key any, claims Claims, header map[string]any) string {
	i.t.Helper()
	algorithm := jose.HS256
	switch key.(type) {
	case *rsa.PrivateKey:
		algorithm = jose.RS256
	case *ecdsa.PrivateKey:
		algorithm = jose.ES256
	}
	options := &jose.SignerOptions{}
	options.WithType("JWT")
	for name, value := range header {
		options.WithHeader(jose.HeaderKey(name), value)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, options)
	if err != nil {
		i.t.Fatalf("making a signer: %v", err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		i.t.Fatalf("encoding claims: %v", err)
	}
	return i.compact(signer, payload)
}

// SignRaw signs any bytes with the key of the id.
func (i *Issuer) SignRaw(id string, payload []byte) string {
	i.t.Helper()
	algorithm := jose.ES256
	if _, ok := i.Key(id).(*rsa.PrivateKey); ok {
		algorithm = jose.RS256
	}
	options := (&jose.SignerOptions{}).WithHeader("kid", id)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: i.Key(id)}, options)
	if err != nil {
		i.t.Fatalf("making a signer: %v", err)
	}
	return i.compact(signer, payload)
}

func (i *Issuer) compact(signer jose.Signer, payload []byte) string {
	i.t.Helper()
	signed, err := signer.Sign(payload)
	if err != nil {
		i.t.Fatalf("signing: %v", err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		i.t.Fatalf("serialising: %v", err)
	}
	return token
}

// KeySet returns the public keys.
func (i *Issuer) KeySet() jose.JSONWebKeySet {
	i.mu.Lock()
	defer i.mu.Unlock()
	var set jose.JSONWebKeySet
	for id, key := range i.keys {
		algorithm := string(jose.ES256)
		if _, ok := key.(*rsa.PrivateKey); ok {
			algorithm = string(jose.RS256)
		}
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Public(), KeyID: id, Algorithm: algorithm, Use: "sig"})
	}
	return set
}

// Server answers what an API server answers about tokens: discovery, keys, token
// reviews and access reviews.
type Server struct {
	issuer *Issuer
	server *httptest.Server

	mu     sync.Mutex
	counts map[string]int
	down   map[string]bool
	review func(authenticationv1.TokenReviewSpec) authenticationv1.TokenReviewStatus
	access func(authorizationv1.SubjectAccessReviewSpec) bool
}

// The paths that a Server knows, for Down and Count.
const (
	PathDiscovery = "/.well-known/openid-configuration"
	PathKeys      = "/openid/v1/jwks"
	PathReview    = "/apis/authentication.k8s.io/v1/tokenreviews"
	PathAccess    = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
)

// Serve starts a server for the issuer, which ends with the test. It accepts no
// token and allows no access until told otherwise.
func (i *Issuer) Serve() *Server {
	i.t.Helper()
	s := &Server{issuer: i, counts: map[string]int{}, down: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+PathDiscovery, func(w http.ResponseWriter, _ *http.Request) {
		// Managed clusters name an address of their own here. It must not be used.
		reply(w, map[string]any{"issuer": i.URL, "jwks_uri": "https://keys.invalid/openid/v1/jwks"})
	})
	mux.HandleFunc("GET "+PathKeys, func(w http.ResponseWriter, _ *http.Request) { reply(w, i.KeySet()) })
	mux.HandleFunc("POST "+PathReview, s.serveReview)
	mux.HandleFunc("POST "+PathAccess, s.serveAccess)
	s.server = httptest.NewServer(s.count(mux))
	i.t.Cleanup(s.server.Close)
	return s
}

func (s *Server) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.counts[r.URL.Path]++
		down := s.down[r.URL.Path]
		s.mu.Unlock()
		if down {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) serveReview(w http.ResponseWriter, r *http.Request) {
	var review authenticationv1.TokenReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	decide := s.review
	s.mu.Unlock()
	if decide != nil {
		review.Status = decide(review.Spec)
	}
	reply(w, review)
}

func (s *Server) serveAccess(w http.ResponseWriter, r *http.Request) {
	var review authorizationv1.SubjectAccessReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	decide := s.access
	s.mu.Unlock()
	review.Status.Allowed = decide != nil && decide(review.Spec)
	reply(w, review)
}

func reply(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

// Config reaches the server.
func (s *Server) Config() *rest.Config {
	config := &rest.Config{Host: s.server.URL}
	config.ContentType = "application/json"
	return config
}

// Count returns how often a path was asked for.
func (s *Server) Count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[path]
}

// Down makes a path answer 503, or ends that.
func (s *Server) Down(path string, down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down[path] = down
}

// Reviews decides what token reviews say.
func (s *Server) Reviews(decide func(authenticationv1.TokenReviewSpec) authenticationv1.TokenReviewStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.review = decide
}

// Access decides what access reviews say.
func (s *Server) Access(decide func(authorizationv1.SubjectAccessReviewSpec) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.access = decide
}
