// SPDX-License-Identifier: Apache-2.0

package podidentity

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/milepost-dev/milepost/controller/internal/report"
	"github.com/milepost-dev/milepost/controller/internal/testkit/tokens"
)

// lateWorld is a world whose caches know nothing yet. calls counts the look-ups
// past them, and fault makes them fail.
func lateWorld(t *testing.T) (w *world, calls *int, fault *error) {
	t.Helper()
	w = newWorld(t)
	calls, fault = new(int), new(error)
	behind := w.client
	counting := interceptor.NewClient(behind.(ctrlclient.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c ctrlclient.WithWatch, list ctrlclient.ObjectList, opts ...ctrlclient.ListOption) error {
			*calls++
			if *fault != nil {
				return *fault
			}
			return c.List(ctx, list, opts...)
		},
	})
	w.cfg.Live = counting
	w.Identifier.live = newLive(w.cfg)
	w.Identifier.reader = fake.NewClientBuilder().WithScheme(behind.Scheme()).Build()
	return w, calls, fault
}

func TestAPodThatIsNewerThanTheCacheIsLookedUp(t *testing.T) {
	w, calls, _ := lateWorld(t)
	token := w.issuer.Sign(tokens.KeyRSA, w.good())
	for range 5 {
		if _, err := w.Identify(t.Context(), token, job); err != nil {
			t.Fatalf("identifying: %v", err)
		}
	}
	if *calls != 3 { // pod, Job and JobSet, once each
		t.Errorf("%d look-ups, want 3", *calls)
	}
	// A pod deleted since is noticed when the answer is no longer good.
	w.remove(t, &corev1.Pod{}, podName)
	w.clock.Step(lookedUpFor + time.Millisecond)
	_, err := w.Identify(t.Context(), token, job)
	wantRefusal(t, err, report.ErrOtherJob, "noPodOfJob")
}

func TestLookUpsAreBounded(t *testing.T) {
	t.Run("an old token costs none", func(t *testing.T) {
		w, calls, _ := lateWorld(t)
		token := w.issuer.Sign(tokens.KeyRSA, w.good())
		w.clock.Step(freshFor + time.Second)
		_, err := w.Identify(t.Context(), token, job)
		wantRefusal(t, err, report.ErrOtherJob, "noPodOfJob")
		if *calls > 0 {
			t.Errorf("%d look-ups", *calls)
		}
	})
	t.Run("pods that are not there cost one each, up to the limit", func(t *testing.T) {
		w, calls, _ := lateWorld(t)
		for i := range 3 * lookUpBurst {
			claims := w.issuer.Pod(w.clock.Now(), w.good()["aud"].([]string)[0], space, "made-up", string(rune('a'+i)))
			_, err := w.Identify(t.Context(), w.issuer.Sign(tokens.KeyEC, claims), job)
			if err == nil {
				t.Fatal("a pod that is not there is let in")
			}
		}
		if *calls != lookUpBurst {
			t.Errorf("%d look-ups, want %d", *calls, lookUpBurst)
		}
	})
	t.Run("a look-up that fails decides nothing", func(t *testing.T) {
		w, _, fault := lateWorld(t)
		*fault = errors.New("connection refused")
		_, err := w.Identify(t.Context(), w.issuer.Sign(tokens.KeyRSA, w.good()), job)
		wantRefusal(t, err, report.ErrUnavailable, "undecided")
	})
}
