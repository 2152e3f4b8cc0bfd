// SPDX-License-Identifier: Apache-2.0

//go:build unix

package faults

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/milepost-dev/milepost/controller/internal/reportlink"
	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
	"github.com/milepost-dev/milepost/controller/internal/testkit/tokens"
)

// forger makes tokens for the pod of a job. It holds the key of the API server,
// so that a token differs from a good one in nothing but what a case changes.
type forger struct {
	issuer *tokens.Issuer
	good   tokens.Claims
	kid    string
	key    *rsa.PrivateKey
	// lure is the address of a listener that nobody must call.
	lure string
	job  string
}

func newForger(t *testing.T, s *site, j *job, lure string) *forger {
	t.Helper()
	signer := s.plane.Signer
	f := &forger{issuer: tokens.New(t, signer.Issuer), kid: signer.KeyID, key: signer.Key, lure: lure, job: j.name}
	f.good = f.issuer.Pod(time.Now(), reportlink.Audience(namespace, j.name), namespace, j.pod.Name, string(j.pod.UID))
	return f
}

func (f *forger) sign(claims tokens.Claims) string { return f.signUnder(f.kid, claims) }

func (f *forger) signUnder(kid string, claims tokens.Claims) string {
	return f.issuer.SignWith(f.key, claims, map[string]any{"kid": kid})
}

// header signs with a key of our own and a header that says where to find it.
func (f *forger) header(name string, value any) string {
	return f.issuer.SignWith(f.issuer.Key(tokens.KeyRSA), f.good, map[string]any{"kid": "ours", name: value})
}

func (f *forger) audience(values ...string) string { return f.sign(f.good.With("aud", values)) }

func (f *forger) own() string { return reportlink.Audience(namespace, f.job) }

// none is the token of an issuer that does not sign.
func (f *forger) none(t *testing.T) string {
	t.Helper()
	payload, err := json.Marshal(f.good)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none","typ":"JWT","kid":"`+f.kid+`"}`)) + "." + encode(payload) + "."
}

// withPublicKey signs with the public key as if it were a shared secret.
func (f *forger) withPublicKey(t *testing.T) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(f.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	secret := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	return f.issuer.SignWith(secret, f.good, map[string]any{"kid": f.kid})
}

type forgery struct {
	make func(t *testing.T, f *forger) string
	code int
}

const (
	minute = time.Minute
	// refusedWithin is the p99 of refusals.
	refusedWithin = 50 * time.Millisecond
)

func signed(change func(f *forger) tokens.Claims) func(*testing.T, *forger) string {
	return func(_ *testing.T, f *forger) string { return f.sign(change(f)) }
}

func at(claim string, d time.Duration) func(*testing.T, *forger) string {
	return signed(func(f *forger) tokens.Claims { return f.good.With(claim, time.Now().Add(d).Unix()) })
}

func issuer(change func(string) any) func(*testing.T, *forger) string {
	return signed(func(f *forger) tokens.Claims { return f.good.With("iss", change(f.issuer.URL)) })
}

func audience(change func(f *forger) []string) func(*testing.T, *forger) string {
	return func(_ *testing.T, f *forger) string { return f.audience(change(f)...) }
}

func pointing(name string, value func(f *forger) any) func(*testing.T, *forger) string {
	return func(_ *testing.T, f *forger) string { return f.header(name, value(f)) }
}

func named(kid string) func(*testing.T, *forger) string {
	return func(_ *testing.T, f *forger) string {
		return f.issuer.SignWith(f.issuer.Key(tokens.KeyRSA), f.good, map[string]any{"kid": kid})
	}
}

var forgeries = map[string]forgery{
	"nothing changed, to show that the forger can": {code: 200, make: signed(func(f *forger) tokens.Claims { return f.good })},
	"valid in 4 minutes, as of a clock ahead":      {code: 200, make: at("nbf", 4*minute)},
	"the right audience among others": {code: 200, make: audience(func(f *forger) []string {
		return []string{"https://kubernetes.default.svc", f.own()}
	})},
	"algorithm none":           {code: 401, make: func(t *testing.T, f *forger) string { return f.none(t) }},
	"HMAC with the public key": {code: 401, make: func(t *testing.T, f *forger) string { return f.withPublicKey(t) }},
	"the key id of another key": {code: 401, make: func(_ *testing.T, f *forger) string {
		return f.issuer.SignWith(f.issuer.Key(tokens.KeyRSA), f.good, map[string]any{"kid": f.kid})
	}},
	"an unknown key id":                 {code: 401, make: named("unknown")},
	"a key id that is a path":           {code: 401, make: named("../../../../dev/null")},
	"no key id":                         {code: 401, make: named("")},
	"a key id of 10 kB":                 {code: 401, make: named(strings.Repeat("k", 7500))},
	"jku header":                        {code: 401, make: pointing("jku", func(f *forger) any { return f.lure })},
	"x5u header":                        {code: 401, make: pointing("x5u", func(f *forger) any { return f.lure })},
	"jwk header":                        {code: 401, make: pointing("jwk", func(f *forger) any { return jose.JSONWebKey{Key: f.issuer.Key(tokens.KeyRSA).Public()} })},
	"expired by a second":               {code: 401, make: at("exp", -time.Second)},
	"valid in 6 minutes":                {code: 401, make: at("nbf", 6*minute)},
	"no expiry":                         {code: 401, make: signed(func(f *forger) tokens.Claims { return f.good.With("exp", nil) })},
	"the audience of the API server":    {code: 401, make: audience(func(*forger) []string { return []string{"https://kubernetes.default.svc"} })},
	"the audience of another job":       {code: 403, make: audience(func(*forger) []string { return []string{reportlink.Audience(namespace, "other")} })},
	"the audience of another namespace": {code: 403, make: audience(func(f *forger) []string { return []string{reportlink.Audience("other", f.job)} })},
	"the audience in another case":      {code: 401, make: audience(func(f *forger) []string { return []string{strings.ToUpper(f.own())} })},
	"the audience with a slash":         {code: 401, make: audience(func(f *forger) []string { return []string{f.own() + "/"} })},
	"no audience":                       {code: 401, make: audience(func(*forger) []string { return nil })},
	"another issuer":                    {code: 401, make: issuer(func(string) any { return "https://issuer.invalid" })},
	"no issuer":                         {code: 401, make: issuer(func(string) any { return nil })},
	"the issuer with a slash":           {code: 401, make: issuer(func(url string) any { return url + "/" })},
	"a pod of another namespace":        {code: 403, make: signed(func(f *forger) tokens.Claims { return f.podIn("other") })},
	"a pod that never was":              {code: 403, make: signed(func(f *forger) tokens.Claims { return f.pod("never", "00000000-0000-0000-0000-000000000000") })},
}

func (f *forger) podIn(space string) tokens.Claims {
	kubernetes := f.good["kubernetes.io"].(map[string]any)
	return f.good.With("kubernetes.io", map[string]any{"namespace": space, "pod": kubernetes["pod"]})
}

func (f *forger) pod(name, uid string) tokens.Claims {
	return f.good.With("kubernetes.io", map[string]any{"namespace": namespace, "pod": map[string]any{"name": name, "uid": uid}})
}

func TestForgedTokens(t *testing.T) {
	s := require(t)
	lure, contacted := newLure(t)
	proxy := newInjector(t, s.plane.Config)
	m := s.manager(t, proxy.config, livemanager.Options{})
	f := launch(t, plan{jobs: s.jobs, client: newClients(t, m), address: m.Address()})
	rate := f.flow(t)
	victim := s.victim(t, "tokens")
	target := forgeTarget{client: newClients(t, m)(), url: m.URL(namespace, victim.name)}
	target.awaitKnown(t, victim)
	forge := newForger(t, s, victim, lure)
	slowest := time.Duration(0)
	for name, tc := range forgeries {
		t.Run(name, func(t *testing.T) { slowest = max(slowest, target.try(t, s, victim, tc, tc.make(t, forge))) })
	}
	refusal := target.refusals(t, forge)
	if limit := scale(time.Second, refusedWithin); refusal > limit {
		t.Errorf("p99 of refusals is %s, want %s", refusal, limit)
	}
	if n := contacted.Load(); n > 0 {
		t.Errorf("the server followed an address in a header %d times", n)
	}
	fetches, sent, length := target.floodKeys(t, proxy, forge)
	if most := 1 + int(length.Seconds())/10; fetches > most {
		t.Errorf("%d key fetches in %s, want %d at most", fetches, length, most)
	}
	f.stop()
	if lost := failed(f.since(0)); len(lost) > 0 {
		t.Errorf("honest reports failed meanwhile: %s", describe(lost))
	}
	s.note(t, "under %.0f reports/s; %d forgeries judged right, the slowest in %s, p99 of refusals %s; no address in a header was called; %d forged key ids in %s made %d key fetches; no honest report failed",
		rate, len(forgeries), slowest.Round(time.Millisecond), refusal.Round(100*time.Microsecond), sent, length.Round(time.Second), fetches)
}

// TestTokenOfADeletedPod plays a token again after its pod is gone.
func TestTokenOfADeletedPod(t *testing.T) {
	s := require(t)
	m := s.manager(t, s.plane.Config, livemanager.Options{})
	f := launch(t, plan{jobs: s.jobs, client: newClients(t, m), address: m.Address()})
	rate := f.flow(t)
	victim := s.victim(t, "replay")
	target := forgeTarget{client: newClients(t, m)(), url: m.URL(namespace, victim.name)}
	target.awaitKnown(t, victim)
	if err := s.api.Delete(t.Context(), victim.pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	took := eventually(t, 3*storedWithin, "replay refused", func() error {
		if code := target.send(t, victim.token); code != http.StatusForbidden {
			return fmt.Errorf("answer %d", code)
		}
		return nil
	})
	s.note(t, "under %.0f reports/s; refused %s after the deletion", rate, took.Round(time.Millisecond))
}

// victim makes a job that no fleet reports for.
func (s *site) victim(t *testing.T, name string) *job {
	t.Helper()
	j, err := s.newJob(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// newLure listens where the headers of forged tokens lead.
func newLure(t *testing.T) (url string, contacted *atomic.Int64) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	contacted = &atomic.Int64{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			contacted.Add(1)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); <-done })
	return "http://" + listener.Addr().String() + "/keys", contacted
}

// forgeTarget is where forged tokens are sent.
type forgeTarget struct {
	client *http.Client
	url    string
}

const forgedBody = `{"trainerStatus":{"progressPercentage":1}}`

func (f forgeTarget) send(t *testing.T, token string) int {
	t.Helper()
	code, _, err := post(t.Context(), f.client, f.url, token, forgedBody)
	if code == 0 {
		t.Fatalf("sending: %v", err)
	}
	return code
}

// awaitKnown waits until the manager knows the pod, with an empty report.
func (f forgeTarget) awaitKnown(t *testing.T, j *job) {
	t.Helper()
	eventually(t, patience, "pod known", func() error {
		code, _, err := post(t.Context(), f.client, f.url, j.token, `{}`)
		if code == http.StatusOK {
			return nil
		}
		return err
	})
}

// try sends one token and returns how long the answer took.
func (f forgeTarget) try(t *testing.T, s *site, victim *job, tc forgery, token string) time.Duration {
	t.Helper()
	before := s.version(t, victim)
	begun := time.Now()
	code, _, err := post(t.Context(), f.client, f.url, token, forgedBody)
	took := time.Since(begun)
	if code != tc.code {
		t.Errorf("answer %d (%v), want %d", code, err, tc.code)
	}
	if err != nil && strings.Contains(err.Error(), token) {
		t.Error("the answer holds the token")
	}
	if code != http.StatusOK && s.version(t, victim) != before {
		t.Error("the TrainJob was written although the report was refused")
	}
	return took
}

// refusals sends what is to be refused again and again and returns the time within
// which 99 of 100 were.
func (f forgeTarget) refusals(t *testing.T, forge *forger) time.Duration {
	t.Helper()
	var times []sent
	for range scale(4, 20) {
		for name, tc := range forgeries {
			if tc.code == http.StatusOK {
				continue
			}
			token := tc.make(t, forge)
			begun := time.Now()
			if code := f.send(t, token); code != tc.code {
				t.Errorf("%s is answered %d, want %d", name, code, tc.code)
			}
			times = append(times, sent{took: time.Since(begun)})
		}
	}
	return p99(times)
}

// version is that of the TrainJob.
func (s *site) version(t *testing.T, j *job) string {
	t.Helper()
	job := newTrainJob()
	if err := s.api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: j.name}, job); err != nil {
		t.Fatal(err)
	}
	return job.ResourceVersion
}

// floodKeys sends tokens with ever new key ids, and returns how often the keys
// were fetched meanwhile.
func (f forgeTarget) floodKeys(t *testing.T, proxy *injector, forge *forger) (fetches, sent int, length time.Duration) {
	t.Helper()
	const floodRate, hands = 1000, 8
	length = scale(6*time.Second, 30*time.Second)
	before := proxy.count(keyFetches)
	// Signing is the slow part and not what is tested: the signature is noise.
	body := strings.SplitN(forge.sign(forge.good), ".", 3)[1]
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var count, odd atomic.Int64
	var wg sync.WaitGroup
	for range hands {
		wg.Go(func() {
			tick := time.NewTicker(time.Second * hands / floodRate)
			defer tick.Stop()
			for ctx.Err() == nil {
				code, _, _ := post(context.WithoutCancel(ctx), f.client, f.url, noise(body), forgedBody)
				count.Add(1)
				if code != http.StatusUnauthorized && code != http.StatusTooManyRequests {
					odd.Add(1)
				}
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
		})
	}
	wg.Wait()
	if n := odd.Load(); n > 0 {
		t.Errorf("%d of %d forged tokens were answered with something else than 401 or 429", n, count.Load())
	}
	if float64(count.Load()) < scale(0.25, 0.9)*floodRate*length.Seconds() {
		t.Errorf("void: only %d forged tokens were sent in %s", count.Load(), length)
	}
	return proxy.count(keyFetches) - before, int(count.Load()), length
}

// noise is a token with a new key id and a signature that nobody made.
func noise(body string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"RS256","typ":"JWT","kid":"`+rand.Text()+`"}`)) + "." + body + "." + encode(make([]byte, 256))
}
