// SPDX-License-Identifier: Apache-2.0

package podidentity

import (
	"strconv"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/milepost-dev/milepost/controller/internal/report"
	"github.com/milepost-dev/milepost/controller/internal/testkit/tokens"
)

// fresh is a token that was not seen before, so that no proof is remembered.
func (w *world) fresh(key string, number int) string {
	return w.issuer.Sign(key, w.good().With("jti", strconv.Itoa(number)))
}

func TestKeyEndpointDownForTenMinutesOfAFakeClock(t *testing.T) {
	const outage, step = 10 * time.Minute, time.Second
	w := newWorld(t)
	if _, err := w.Identify(t.Context(), w.fresh(tokens.KeyRSA, 0), job); err != nil {
		t.Fatal(err)
	}
	w.clock.Step(defaultKeyInterval)
	before := w.api.Count(tokens.PathKeys)
	w.api.Down(tokens.PathKeys, true)
	w.issuer.AddEC("ec-2")
	w.api.Reviews(func(spec authenticationv1.TokenReviewSpec) authenticationv1.TokenReviewStatus {
		status := accept(spec)
		status.User.Extra = map[string]authenticationv1.ExtraValue{extraPodName: {podName}, extraPodUID: {string(podUID)}}
		return status
	})
	for i := range int(outage / step) {
		if _, err := w.Identify(t.Context(), w.fresh(tokens.KeyRSA, i+1), job); err != nil {
			t.Fatalf("a token of a known key after %s: %v", time.Duration(i)*step, err)
		}
		// A key that came during the outage cannot be fetched: the API server is asked.
		if _, err := w.Identify(t.Context(), w.fresh("ec-2", i+1), job); err != nil {
			t.Fatalf("a token of a new key after %s: %v", time.Duration(i)*step, err)
		}
		w.clock.Step(step)
	}
	if got, most := w.api.Count(tokens.PathKeys)-before, int(outage/defaultKeyInterval)+1; got < 2 || got > most {
		t.Errorf("keys were asked for %d times in %s, want some and %d at most", got, outage, most)
	}
	w.api.Down(tokens.PathKeys, false)
	w.clock.Step(defaultKeyInterval)
	reviews := w.api.Count(tokens.PathReview)
	if _, err := w.Identify(t.Context(), w.fresh("ec-2", 1000), job); err != nil {
		t.Errorf("a token of the new key once it can be had: %v", err)
	}
	if got := w.api.Count(tokens.PathReview); got != reviews {
		t.Errorf("%d more reviews once the keys can be had, want none", got-reviews)
	}
}

func TestKeysRotateUnderTokensOfBoth(t *testing.T) {
	w := newWorld(t)
	old := w.issuer.Sign(tokens.KeyRSA, w.good())
	if _, err := w.Identify(t.Context(), old, job); err != nil {
		t.Fatal(err)
	}
	w.issuer.AddRSA("rsa-2")
	before := w.api.Count(tokens.PathKeys)
	// Within the interval of the last fetch the new key cannot be known.
	_, err := w.Identify(t.Context(), w.fresh("rsa-2", 1), job)
	wantRefusal(t, err, report.ErrUnproven, "unknownKey")
	w.clock.Step(defaultKeyInterval)
	for number, key := range []string{"rsa-2", tokens.KeyRSA, "rsa-2", tokens.KeyRSA} {
		if _, err := w.Identify(t.Context(), w.fresh(key, number+10), job); err != nil {
			t.Errorf("a token of key %s: %v", key, err)
		}
	}
	if got := w.api.Count(tokens.PathKeys) - before; got != 1 {
		t.Errorf("%d fetches for the new key, want 1", got)
	}
}

// TestClocksThatDifferWithAFakeClock has the clock here and that of the API server, which
// dates tokens, ten minutes apart.
func TestClocksThatDifferWithAFakeClock(t *testing.T) {
	const off = 10 * time.Minute
	t.Run("a clock ahead takes new tokens, and ends them that much earlier", func(t *testing.T) {
		w := newWorld(t)
		token := w.issuer.Sign(tokens.KeyRSA, w.good())
		w.clock.Step(off)
		if _, err := w.Identify(t.Context(), token, job); err != nil {
			t.Errorf("a new token: %v", err)
		}
		// Kubelet renews a token after 80 % of its hour.
		w.clock.Step(48 * time.Minute)
		if _, err := w.Identify(t.Context(), token, job); err != nil {
			t.Errorf("a token about to be renewed: %v", err)
		}
		w.clock.Step(2*time.Minute + time.Second)
		_, err := w.Identify(t.Context(), token, job)
		wantRefusal(t, err, report.ErrUnproven, "expired")
	})
	t.Run("a clock behind takes tokens once they are five minutes old", func(t *testing.T) {
		w := newWorld(t)
		token := w.issuer.Sign(tokens.KeyRSA, w.issuer.Pod(w.clock.Now().Add(off), w.good()["aud"].([]string)[0], space, podName, string(podUID)))
		_, err := w.Identify(t.Context(), token, job)
		wantRefusal(t, err, report.ErrUnproven, "notYet")
		w.clock.Step(off - notBeforeLeeway)
		if _, err := w.Identify(t.Context(), token, job); err != nil {
			t.Errorf("a token of five minutes: %v", err)
		}
	})
}

// TestPodThatTerminatesOnAFakeClock: kubelet renews no token of a pod that is
// being deleted, so the last one must do for as long as the pod takes to end.
func TestPodThatTerminatesOnAFakeClock(t *testing.T) {
	w := newWorld(t)
	token := w.issuer.Sign(tokens.KeyRSA, w.good())
	pod := &corev1.Pod{}
	if err := w.client.Get(t.Context(), ctrlclient.ObjectKey{Namespace: space, Name: podName}, pod); err != nil {
		t.Fatal(err)
	}
	pod.Finalizers = []string{"test.milepost.dev/hold"}
	if err := w.client.Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	w.remove(t, &corev1.Pod{}, podName)
	if err := w.client.Get(t.Context(), ctrlclient.ObjectKeyFromObject(pod), pod); err != nil || pod.DeletionTimestamp == nil {
		t.Fatalf("the pod is not terminating: %v", err)
	}
	last := time.Duration(0)
	for number, passed := range []time.Duration{0, 30 * time.Second, 59 * time.Second, 75 * time.Second} {
		w.clock.Step(passed - last)
		last = passed
		if _, err := w.Identify(t.Context(), token, job); err != nil {
			t.Errorf("the last token %s after the deletion began: %v", passed, err)
		}
		if _, err := w.Identify(t.Context(), w.fresh(tokens.KeyRSA, number), job); err != nil {
			t.Errorf("a token that was not seen before, after %s: %v", passed, err)
		}
	}
	pod.Finalizers = nil
	if err := w.client.Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	_, err := w.Identify(t.Context(), token, job)
	wantRefusal(t, err, report.ErrOtherJob, "noPodOfJob")
}
