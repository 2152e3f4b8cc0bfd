// SPDX-License-Identifier: Apache-2.0

package podidentity

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/milepost-dev/milepost/controller/internal/report"
	"github.com/milepost-dev/milepost/controller/internal/reportlink"
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
	t.Run("pods that are not there cost one each, up to the limit of their namespace", func(t *testing.T) {
		w, calls, _ := lateWorld(t)
		const elsewhere = "elsewhere"
		other := report.JobKey{Namespace: elsewhere, Name: jobName}
		w.jobs[other] = "uid-of-another"
		for i := range 3 * spaceBurst {
			claims := w.issuer.Pod(w.clock.Now(), reportlink.Audience(elsewhere, jobName), elsewhere, "made-up", fmt.Sprint(i))
			_, err := w.Identify(t.Context(), w.issuer.Sign(tokens.KeyEC, claims), other)
			if err == nil {
				t.Fatal("a pod that is not there is let in")
			}
			if i >= spaceBurst {
				wantRefusal(t, err, report.ErrUnavailable, "undecided")
			}
		}
		if *calls != spaceBurst {
			t.Errorf("%d look-ups, want %d", *calls, spaceBurst)
		}
		if _, err := w.Identify(t.Context(), w.issuer.Sign(tokens.KeyRSA, w.good()), job); err != nil {
			t.Errorf("a pod of another namespace is not looked up: %v", err)
		}
	})
	t.Run("all namespaces together have a limit", func(t *testing.T) {
		w, calls, _ := lateWorld(t)
		for i := range 3 * lookUpBurst {
			place := report.JobKey{Namespace: fmt.Sprintf("space-%d", i), Name: jobName}
			w.jobs[place] = "uid"
			claims := w.issuer.Pod(w.clock.Now(), reportlink.Audience(place.Namespace, jobName), place.Namespace, "made-up", "uid")
			if _, err := w.Identify(t.Context(), w.issuer.Sign(tokens.KeyEC, claims), place); err == nil {
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

// lateJobs are TrainJobs of which the cache knows only some.
type lateJobs struct {
	cached, stored jobsOf
	calls          int
	fault          error
}

func (j *lateJobs) JobUID(ctx context.Context, job report.JobKey) (types.UID, error) {
	return j.cached.JobUID(ctx, job)
}

func (j *lateJobs) Find(ctx context.Context, job report.JobKey) (types.UID, error) {
	j.calls++
	if j.fault != nil {
		return "", j.fault
	}
	return j.stored.JobUID(ctx, job)
}

// lateJobWorld is a world whose cache of TrainJobs is behind.
func lateJobWorld(t *testing.T, cached, stored jobsOf) (*world, *lateJobs) {
	t.Helper()
	w, _, _ := lateWorld(t)
	jobs := &lateJobs{cached: cached, stored: stored}
	w.Identifier.jobs = jobs
	return w, jobs
}

func TestATrainJobThatIsNewerThanTheCacheIsLookedUp(t *testing.T) {
	for name, cached := range map[string]jobsOf{
		"not known to the cache":        {},
		"known in an earlier life only": {job: "uid-of-earlier-life"},
	} {
		t.Run(name, func(t *testing.T) {
			w, jobs := lateJobWorld(t, cached, jobsOf{job: jobUID})
			token := w.issuer.Sign(tokens.KeyRSA, w.good())
			for range 5 {
				from, err := w.Identify(t.Context(), token, job)
				if err != nil || from.JobUID != jobUID || from.PodUID != podUID {
					t.Fatalf("identifying gives %+v, %v", from, err)
				}
			}
			if jobs.calls != 1 {
				t.Errorf("%d look-ups, want 1", jobs.calls)
			}
		})
	}
}

func TestATrainJobIsLookedUpForItsPodsAlone(t *testing.T) {
	t.Run("one that is not there is not found", func(t *testing.T) {
		w, jobs := lateJobWorld(t, jobsOf{}, jobsOf{})
		token := w.issuer.Sign(tokens.KeyRSA, w.good())
		for range 5 {
			_, err := w.Identify(t.Context(), token, job)
			wantRefusal(t, err, report.ErrUnknownJob, "unknownJob")
		}
		if jobs.calls != 1 {
			t.Errorf("%d look-ups, want 1", jobs.calls)
		}
	})
	t.Run("one that no pod belongs to costs none", func(t *testing.T) {
		w, jobs := lateJobWorld(t, jobsOf{}, jobsOf{})
		claims := w.issuer.Pod(w.clock.Now(), reportlink.Audience(space, "made-up"), space, podName, string(podUID))
		_, err := w.Identify(t.Context(), w.issuer.Sign(tokens.KeyRSA, claims), report.JobKey{Namespace: space, Name: "made-up"})
		wantRefusal(t, err, report.ErrUnknownJob, "unknownJob")
		if jobs.calls > 0 {
			t.Errorf("%d look-ups", jobs.calls)
		}
	})
	t.Run("an old token costs none", func(t *testing.T) {
		w, jobs := lateJobWorld(t, jobsOf{}, jobsOf{job: jobUID})
		token := w.issuer.Sign(tokens.KeyRSA, w.good())
		w.clock.Step(freshFor + time.Second)
		_, err := w.Identify(t.Context(), token, job)
		wantRefusal(t, err, report.ErrUnknownJob, "unknownJob")
		if jobs.calls > 0 {
			t.Errorf("%d look-ups", jobs.calls)
		}
	})
	t.Run("a look-up that fails decides nothing", func(t *testing.T) {
		w, jobs := lateJobWorld(t, jobsOf{}, jobsOf{job: jobUID})
		jobs.fault = errors.New("connection refused")
		_, err := w.Identify(t.Context(), w.issuer.Sign(tokens.KeyRSA, w.good()), job)
		wantRefusal(t, err, report.ErrUnavailable, "undecided")
	})
}
