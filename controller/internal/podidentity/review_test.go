// SPDX-License-Identifier: Apache-2.0

package podidentity

import (
	"errors"
	"strconv"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/milepost-dev/milepost/controller/internal/report"
	"github.com/milepost-dev/milepost/controller/internal/testkit/tokens"
)

func TestCallerThatIsNoPodOfTheJob(t *testing.T) {
	launcher := func(w *world) string {
		return w.issuer.Sign(tokens.KeyRSA, w.good().With("kubernetes.io", map[string]any{"namespace": space}))
	}
	allow := func(spec authorizationv1.SubjectAccessReviewSpec) bool {
		a := spec.ResourceAttributes
		return a.Verb == "update" && a.Group == "trainer.kubeflow.org" && a.Resource == "trainjobs" &&
			a.Subresource == "status" && a.Namespace == space && a.Name == jobName &&
			spec.User == "system:serviceaccount:team:launcher"
	}
	t.Run("may report when RBAC says so, asked once", func(t *testing.T) {
		w := newWorld(t)
		w.api.Reviews(accept)
		w.api.Access(allow)
		token := launcher(w)
		for range 5 {
			got, err := w.Identify(t.Context(), token, job)
			if err != nil {
				t.Fatal(err)
			}
			if got.PodUID != "" || got.JobUID != jobUID || got.User == "" {
				t.Errorf("sender %+v, want a user without pod", got)
			}
		}
		if got := w.api.Count(tokens.PathAccess); got != 1 {
			t.Errorf("%d access reviews, want 1", got)
		}
	})
	t.Run("is asked about again after a minute", func(t *testing.T) {
		w := newWorld(t)
		w.api.Reviews(accept)
		w.api.Access(allow)
		token := launcher(w)
		if _, err := w.Identify(t.Context(), token, job); err != nil {
			t.Fatal(err)
		}
		w.api.Access(nil)
		w.clock.Step(allowedFor + time.Second)
		_, err := w.Identify(t.Context(), token, job)
		wantRefusal(t, err, report.ErrOtherJob, "noPod")
	})
	t.Run("may not when its token was revoked", func(t *testing.T) {
		w := newWorld(t)
		w.api.Access(allow)
		_, err := w.Identify(t.Context(), launcher(w), job)
		wantRefusal(t, err, report.ErrOtherJob, "noPod")
	})
	t.Run("is asked about within a limit", func(t *testing.T) {
		w := newWorld(t)
		w.api.Reviews(accept)
		over := 0
		for i := range 100 {
			token := w.issuer.Sign(tokens.KeyEC, w.good().With("kubernetes.io", map[string]any{"namespace": space}).With("jti", strconv.Itoa(i)))
			if _, err := w.Identify(t.Context(), token, job); errors.Is(err, report.ErrUnavailable) {
				over++
			}
		}
		if got := w.api.Count(tokens.PathReview); got > defaultReviewBurst {
			t.Errorf("%d questions at once, want at most %d", got, defaultReviewBurst)
		}
		if over == 0 {
			t.Error("nobody was told to come again")
		}
	})
}
