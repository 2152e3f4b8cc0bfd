// SPDX-License-Identifier: Apache-2.0

package podidentity

import (
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/milepost-dev/milepost/controller/internal/report"
	"github.com/milepost-dev/milepost/controller/internal/reportlink"
	"github.com/milepost-dev/milepost/controller/internal/testkit/tokens"
)

func TestMadeUpKeyIDsFetchKeysOncePerInterval(t *testing.T) {
	w := newWorld(t)
	token := func(id string) string {
		return w.issuer.SignWith(w.issuer.Key(tokens.KeyEC), w.good(), map[string]any{"kid": id})
	}
	for i := range 200 {
		_, err := w.Identify(t.Context(), token("made-up-"+string(rune('a'+i%26))), job)
		wantRefusal(t, err, report.ErrUnproven, "unknownKey")
		w.clock.Step(100 * time.Millisecond)
	}
	if got := w.api.Count(tokens.PathKeys); got > 3 {
		t.Errorf("%d fetches in 20 s, want at most one in 10 s", got)
	}
	if got := w.api.Count(tokens.PathReview); got != 0 {
		t.Errorf("%d token reviews for made-up keys, want 0", got)
	}
}

func TestNewSigningKeyIsFound(t *testing.T) {
	w := newWorld(t)
	if _, err := w.Identify(t.Context(), w.issuer.Sign(tokens.KeyRSA, w.good()), job); err != nil {
		t.Fatal(err)
	}
	w.clock.Step(defaultKeyInterval)
	w.issuer.AddEC("ec-2")
	if _, err := w.Identify(t.Context(), w.issuer.Sign("ec-2", w.good()), job); err != nil {
		t.Errorf("identifying with a new key: %v", err)
	}
}

func TestWithdrawnSigningKeyEndsAfterAWhile(t *testing.T) {
	w := newWorld(t)
	if _, err := w.Identify(t.Context(), w.issuer.Sign(tokens.KeyRSA, w.good()), job); err != nil {
		t.Fatal(err)
	}
	key := w.issuer.Key(tokens.KeyRSA)
	w.issuer.Remove(tokens.KeyRSA)
	w.clock.Step(defaultKeyAge)
	forged := func() string {
		return w.issuer.SignWith(key, w.good().With("jti", w.clock.Now().String()), map[string]any{"kid": tokens.KeyRSA})
	}
	w.keys.fetch(t.Context())
	_, err := w.Identify(t.Context(), forged(), job)
	wantRefusal(t, err, report.ErrUnproven, "unknownKey")
}

func TestKeysThatCannotBeHad(t *testing.T) {
	podExtra := map[string]authenticationv1.ExtraValue{extraPodName: {podName}, extraPodUID: {string(podUID)}}
	t.Run("tokens are reviewed once and remembered", func(t *testing.T) {
		w := newWorld(t)
		w.api.Down(tokens.PathKeys, true)
		w.api.Reviews(func(spec authenticationv1.TokenReviewSpec) authenticationv1.TokenReviewStatus {
			status := accept(spec)
			status.User.Extra = podExtra
			return status
		})
		token := w.issuer.Sign(tokens.KeyRSA, w.good())
		for range 10 {
			got, err := w.Identify(t.Context(), token, job)
			if err != nil {
				t.Fatal(err)
			}
			if got.PodUID != podUID {
				t.Errorf("pod %q, want %q", got.PodUID, podUID)
			}
		}
		if got := w.api.Count(tokens.PathReview); got != 1 {
			t.Errorf("%d reviews, want 1", got)
		}
	})
	t.Run("a wrong token is refused and asked about once", func(t *testing.T) {
		w := newWorld(t)
		w.api.Down(tokens.PathDiscovery, true)
		token := w.issuer.Sign(tokens.KeyRSA, w.good())
		for range 10 {
			_, err := w.Identify(t.Context(), token, job)
			wantRefusal(t, err, report.ErrUnproven, "review")
		}
		if got := w.api.Count(tokens.PathReview); got != 1 {
			t.Errorf("%d reviews, want 1", got)
		}
	})
	t.Run("a token of another job is told from a wrong one", func(t *testing.T) {
		w := newWorld(t)
		w.api.Down(tokens.PathKeys, true)
		w.api.Reviews(accept)
		_, err := w.Identify(t.Context(), w.issuer.Sign(tokens.KeyRSA, w.good().With("aud", []string{reportlink.Audience(space, "other")})), job)
		wantRefusal(t, err, report.ErrOtherJob, "otherJob")
	})
	t.Run("an API server that is away says nothing about the caller", func(t *testing.T) {
		w := newWorld(t)
		w.api.Down(tokens.PathKeys, true)
		w.api.Down(tokens.PathReview, true)
		_, err := w.Identify(t.Context(), w.issuer.Sign(tokens.KeyRSA, w.good()), job)
		wantRefusal(t, err, report.ErrUnavailable, "undecided")
	})
	t.Run("keys known from before still serve", func(t *testing.T) {
		w := newWorld(t)
		if _, err := w.Identify(t.Context(), w.issuer.Sign(tokens.KeyRSA, w.good()), job); err != nil {
			t.Fatal(err)
		}
		w.api.Down(tokens.PathKeys, true)
		w.clock.Step(20 * time.Minute)
		if _, err := w.Identify(t.Context(), w.issuer.Sign(tokens.KeyRSA, w.good().With("jti", "2")), job); err != nil {
			t.Errorf("identifying: %v", err)
		}
	})
}
