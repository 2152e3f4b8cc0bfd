// SPDX-License-Identifier: Apache-2.0

package podidentity

import (
	"crypto/x509"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/report"
	"github.com/milepost-dev/milepost/controller/internal/reportlink"
	"github.com/milepost-dev/milepost/controller/internal/testkit/tokens"
)

func TestTokensThatProveNothing(t *testing.T) {
	cases := map[string]struct {
		token  func(w *world) string
		reason string
	}{
		"no JWT at all":         {token: func(*world) string { return "abc" }, reason: "malformed"},
		"an empty one":          {token: func(*world) string { return "" }, reason: "malformed"},
		"one of 20 kB":          {token: func(*world) string { return strings.Repeat("a", 20_000) }, reason: "malformed"},
		"algorithm none":        {token: unsigned, reason: "malformed"},
		"HMAC with the RSA key": {token: hmacWithPublicKey, reason: "malformed"},
		"signature of another key": {token: func(w *world) string {
			stranger := tokens.New(t, issuerURL)
			stranger.AddRSA("own")
			return stranger.SignWith(stranger.Key("own"), w.good(), map[string]any{"kid": tokens.KeyRSA})
		}, reason: "signature"},
		"key id of another key": {token: func(w *world) string {
			return w.issuer.SignWith(w.issuer.Key(tokens.KeyRSA), w.good(), map[string]any{"kid": tokens.KeyEC})
		}, reason: "signature"},
		"unknown key id": {token: func(w *world) string {
			return w.issuer.SignWith(w.issuer.Key(tokens.KeyRSA), w.good(), map[string]any{"kid": "nobody"})
		}, reason: "unknownKey"},
		"key id like a path": {token: func(w *world) string {
			return w.issuer.SignWith(w.issuer.Key(tokens.KeyRSA), w.good(), map[string]any{"kid": "../../etc/passwd"})
		}, reason: "unknownKey"},
		"no key id": {token: func(w *world) string {
			return w.issuer.SignWith(w.issuer.Key(tokens.KeyRSA), w.good(), nil)
		}, reason: "unknownKey"},
		"payload changed after signing": {token: func(w *world) string {
			parts := strings.Split(w.issuer.Sign(tokens.KeyRSA, w.good()), ".")
			payload, _ := base64.RawURLEncoding.DecodeString(parts[1])
			parts[1] = base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(payload), "mnist", "other", 1)))
			return strings.Join(parts, ".")
		}, reason: "signature"},
		"expired a second ago": {token: func(w *world) string {
			return w.issuer.Sign(tokens.KeyRSA, w.good().With("exp", w.clock.Now().Add(-time.Second).Unix()))
		}, reason: "expired"},
		"no expiry": {token: func(w *world) string {
			return w.issuer.Sign(tokens.KeyRSA, w.good().With("exp", nil))
		}, reason: "expired"},
		"not valid for 6 minutes": {token: func(w *world) string {
			return w.issuer.Sign(tokens.KeyRSA, w.good().With("nbf", w.clock.Now().Add(6*time.Minute).Unix()))
		}, reason: "notYet"},
		"issuer wrong": {token: func(w *world) string {
			return w.issuer.Sign(tokens.KeyRSA, w.good().With("iss", "https://issuer.example"))
		}, reason: "issuer"},
		"issuer missing": {token: func(w *world) string {
			return w.issuer.Sign(tokens.KeyRSA, w.good().With("iss", nil))
		}, reason: "issuer"},
		"issuer with a trailing slash": {token: func(w *world) string {
			return w.issuer.Sign(tokens.KeyRSA, w.good().With("iss", issuerURL+"/"))
		}, reason: "issuer"},
		"audience of the API server": {token: audience("https://kubernetes.default.svc"), reason: "audience"},
		"audience in another case":   {token: audience(strings.ToUpper(reportlink.Audience(space, jobName))), reason: "audience"},
		"audience with a trailing slash": {
			token: audience(reportlink.Audience(space, jobName) + "/"), reason: "audience",
		},
		"no audience": {token: func(w *world) string {
			return w.issuer.Sign(tokens.KeyRSA, w.good().With("aud", nil))
		}, reason: "audience"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			_, err := w.Identify(t.Context(), tc.token(w), job)
			wantRefusal(t, err, report.ErrUnproven, tc.reason)
		})
	}
}

func audience(aud string) func(w *world) string {
	return func(w *world) string { return w.issuer.Sign(tokens.KeyRSA, w.good().With("aud", []string{aud})) }
}

func unsigned(w *world) string {
	parts := strings.Split(w.issuer.Sign(tokens.KeyRSA, w.good()), ".")
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"rsa-1"}`)) + "." + parts[1] + "."
}

func hmacWithPublicKey(w *world) string {
	public, err := x509.MarshalPKIXPublicKey(w.issuer.Key(tokens.KeyRSA).Public())
	if err != nil {
		panic(err)
	}
	return w.issuer.SignWith(public, w.good(), map[string]any{"kid": tokens.KeyRSA})
}

func TestTokensThatAreTakenAlthoughTheyLookOdd(t *testing.T) {
	cases := map[string]func(w *world) string{
		"right audience among others": func(w *world) string {
			return w.issuer.Sign(tokens.KeyRSA, w.good().With("aud", []string{"a", reportlink.Audience(space, jobName), "b"}))
		},
		"audience as one string": func(w *world) string {
			return w.issuer.Sign(tokens.KeyRSA, w.good().With("aud", reportlink.Audience(space, jobName)))
		},
		"valid in 4 minutes, since clocks differ": func(w *world) string {
			return w.issuer.Sign(tokens.KeyRSA, w.good().With("nbf", w.clock.Now().Add(4*time.Minute).Unix()))
		},
		"headers that point at keys elsewhere": func(w *world) string {
			return w.issuer.SignWith(w.issuer.Key(tokens.KeyRSA), w.good(), map[string]any{
				"kid": tokens.KeyRSA, "jku": "https://keys.invalid/jwks", "x5u": "https://keys.invalid/cert",
			})
		},
	}
	for name, token := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if _, err := w.Identify(t.Context(), token(w), job); err != nil {
				t.Errorf("identifying: %v", err)
			}
		})
	}
}

func FuzzToken(f *testing.F) {
	issuer := tokens.New(f, issuerURL)
	good := issuer.Pod(time.Now(), reportlink.Audience(space, jobName), space, podName, string(podUID))
	f.Add(issuer.Sign(tokens.KeyEC, good))
	f.Add("e30.e30.e30")
	f.Add("..")
	key := signingKey{issuer: issuerURL}
	for _, jwk := range issuer.KeySet().Keys {
		if jwk.KeyID == tokens.KeyEC {
			key.jwk = jwk
		}
	}
	f.Fuzz(func(t *testing.T, bearer string) {
		parsed, err := parseToken(bearer)
		if err != nil {
			if !errors.Is(err, report.ErrUnproven) {
				t.Errorf("error %v is no refusal", err)
			}
			return
		}
		if _, err := parsed.unverified(); err != nil && !errors.Is(err, report.ErrUnproven) {
			t.Errorf("error %v is no refusal", err)
		}
		if p, err := parsed.verify(key, time.Now()); err == nil && !strings.Contains(p.audiences[0], jobName) {
			t.Errorf("a token that was not signed here is taken: %+v", p)
		}
	})
}

func FuzzClaims(f *testing.F) {
	issuer := tokens.New(f, issuerURL)
	for _, seed := range []string{`{}`, `{"aud":5}`, `{"exp":1e400}`, `{"kubernetes.io":[]}`, `{"aud":["a"],"exp":99999999999,"iss":"https://kubernetes.default.svc"}`} {
		f.Add(seed)
	}
	set := issuer.KeySet()
	f.Fuzz(func(t *testing.T, payload string) {
		token := issuer.For(t).SignRaw(tokens.KeyEC, []byte(payload))
		parsed, err := parseToken(token)
		if err != nil {
			t.Skip("not a token")
		}
		for _, jwk := range set.Keys {
			p, err := parsed.verify(signingKey{jwk: jwk, issuer: issuerURL}, time.Now())
			if err != nil && !errors.Is(err, report.ErrUnproven) {
				t.Errorf("error %v is no refusal", err)
			}
			if err == nil && p.until.Before(time.Now()) {
				t.Errorf("claims %s give a proof that has ended", payload)
			}
		}
	})
}
