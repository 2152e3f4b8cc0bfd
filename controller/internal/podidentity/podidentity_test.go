// SPDX-License-Identifier: Apache-2.0

package podidentity

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/milepost-dev/milepost/controller/internal/report"
	"github.com/milepost-dev/milepost/controller/internal/reportlink"
	"github.com/milepost-dev/milepost/controller/internal/testkit/tokens"
)

func TestTrainingPodIsProven(t *testing.T) {
	for _, key := range []string{tokens.KeyRSA, tokens.KeyEC} {
		t.Run("with a key "+key, func(t *testing.T) {
			w := newWorld(t)
			got, err := w.Identify(t.Context(), w.issuer.Sign(key, w.good()), job)
			if err != nil {
				t.Fatalf("identifying: %v", err)
			}
			want := report.Sender{Job: job, JobUID: jobUID, Pod: podName, PodUID: podUID, User: "system:serviceaccount:team:default"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("sender (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProvenCallersThatMayNotReport(t *testing.T) {
	cases := map[string]struct {
		change func(t *testing.T, w *world)
		claims func(w *world) tokens.Claims
		err    error
		reason string
	}{
		"token of another job": {
			claims: func(w *world) tokens.Claims {
				return w.good().With("aud", []string{reportlink.Audience(space, "other")})
			},
			err: report.ErrOtherJob, reason: "otherJob",
		},
		"token of a namespace that differs from its audience": {
			claims: func(w *world) tokens.Claims {
				return w.issuer.Pod(w.clock.Now(), reportlink.Audience(space, jobName), "elsewhere", podName, string(podUID))
			},
			err: report.ErrOtherJob, reason: "otherNamespace",
		},
		"job that does not exist": {
			change: func(_ *testing.T, w *world) { delete(w.jobs, job) },
			err:    report.ErrUnknownJob, reason: "unknownJob",
		},
		"job that was deleted and made again": {
			change: func(_ *testing.T, w *world) { w.jobs[job] = "uid-of-a-new-one" },
			err:    report.ErrOtherJob, reason: "otherLife",
		},
		"plain pod of the namespace": {
			change: func(t *testing.T, w *world) {
				w.create(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
					Namespace: space, Name: "plain", UID: "uid-plain", Labels: map[string]string{jobSetLabel: jobName},
				}})
			},
			claims: func(w *world) tokens.Claims {
				return w.issuer.Pod(w.clock.Now(), reportlink.Audience(space, jobName), space, "plain", "uid-plain")
			},
			err: report.ErrOtherJob, reason: "noPodOfJob",
		},
		"pod that was deleted": {
			change: func(t *testing.T, w *world) { w.remove(t, &corev1.Pod{}, podName) },
			err:    report.ErrOtherJob, reason: "noPodOfJob",
		},
		"pod of the same name and another life": {
			claims: func(w *world) tokens.Claims {
				return w.issuer.Pod(w.clock.Now(), reportlink.Audience(space, jobName), space, podName, "uid-before")
			},
			err: report.ErrOtherJob, reason: "noPodOfJob",
		},
		"pod of another job of the namespace": {
			change: func(t *testing.T, w *world) {
				w.create(t, &corev1.Pod{ObjectMeta: owned("x", "uid-x", "batch/v1", "Job", "other-node-0", "uid-x-job")})
				w.create(t, &batchv1.Job{ObjectMeta: owned("other-node-0", "uid-x-job", "jobset.x-k8s.io/v1alpha2", "JobSet", "other", "uid-x-jobset")})
				w.create(t, &jobsetv1alpha2.JobSet{ObjectMeta: owned("other", "uid-x-jobset", "trainer.kubeflow.org/v1alpha1", "TrainJob", "other", "uid-other")})
			},
			claims: func(w *world) tokens.Claims {
				return w.issuer.Pod(w.clock.Now(), reportlink.Audience(space, jobName), space, "x", "uid-x")
			},
			err: report.ErrOtherJob, reason: "otherJob",
		},
		"pod whose Job is gone": {
			change: func(t *testing.T, w *world) { w.remove(t, &batchv1.Job{}, "mnist-node-0") },
			err:    report.ErrOtherJob, reason: "ownerGone",
		},
		"pod that names a Job by a UID it never had": {
			change: func(t *testing.T, w *world) {
				w.create(t, &corev1.Pod{ObjectMeta: owned("x", "uid-x", "batch/v1", "Job", "mnist-node-0", "uid-guessed")})
			},
			claims: func(w *world) tokens.Claims {
				return w.issuer.Pod(w.clock.Now(), reportlink.Audience(space, jobName), space, "x", "uid-x")
			},
			err: report.ErrOtherJob, reason: "ownerGone",
		},
		"pod whose owner is written without the right to block its deletion": {
			change: func(t *testing.T, w *world) {
				meta := owned("x", "uid-x", "batch/v1", "Job", "mnist-node-0", "uid-of-job")
				meta.OwnerReferences[0].BlockOwnerDeletion = nil
				w.create(t, &corev1.Pod{ObjectMeta: meta})
			},
			claims: func(w *world) tokens.Claims {
				return w.issuer.Pod(w.clock.Now(), reportlink.Audience(space, jobName), space, "x", "uid-x")
			},
			err: report.ErrOtherJob, reason: "noPodOfJob",
		},
		"pod owned by a kind of the same name and another group": {
			change: func(t *testing.T, w *world) {
				w.create(t, &corev1.Pod{ObjectMeta: owned("x", "uid-x", "batch.example.com/v1", "Job", "mnist-node-0", "uid-of-job")})
			},
			claims: func(w *world) tokens.Claims {
				return w.issuer.Pod(w.clock.Now(), reportlink.Audience(space, jobName), space, "x", "uid-x")
			},
			err: report.ErrOtherJob, reason: "noPodOfJob",
		},
		"token bound to no pod": {
			claims: func(w *world) tokens.Claims {
				return w.good().With("kubernetes.io", map[string]any{"namespace": space})
			},
			err: report.ErrOtherJob, reason: "noPod",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.api.Reviews(accept)
			if tc.change != nil {
				tc.change(t, w)
			}
			claims := w.good()
			if tc.claims != nil {
				claims = tc.claims(w)
			}
			_, err := w.Identify(t.Context(), w.issuer.Sign(tokens.KeyEC, claims), job)
			wantRefusal(t, err, tc.err, tc.reason)
		})
	}
}

func TestProofEndsWithThePodAndWithTheToken(t *testing.T) {
	t.Run("deletion of the pod ends it at once", func(t *testing.T) {
		w := newWorld(t)
		token := w.issuer.Sign(tokens.KeyRSA, w.good())
		if _, err := w.Identify(t.Context(), token, job); err != nil {
			t.Fatal(err)
		}
		w.remove(t, &corev1.Pod{}, podName)
		_, err := w.Identify(t.Context(), token, job)
		wantRefusal(t, err, report.ErrOtherJob, "noPodOfJob")
	})
	t.Run("expiry of the token ends it at once", func(t *testing.T) {
		w := newWorld(t)
		token := w.issuer.Sign(tokens.KeyRSA, w.good())
		if _, err := w.Identify(t.Context(), token, job); err != nil {
			t.Fatal(err)
		}
		w.clock.Step(time.Hour + time.Second)
		_, err := w.Identify(t.Context(), token, job)
		wantRefusal(t, err, report.ErrUnproven, "expired")
	})
	t.Run("a pod reports to its end though its owners are gone", func(t *testing.T) {
		w := newWorld(t)
		token := w.issuer.Sign(tokens.KeyRSA, w.good())
		if _, err := w.Identify(t.Context(), token, job); err != nil {
			t.Fatal(err)
		}
		w.remove(t, &batchv1.Job{}, "mnist-node-0")
		w.remove(t, &jobsetv1alpha2.JobSet{}, jobName)
		if _, err := w.Identify(t.Context(), token, job); err != nil {
			t.Errorf("identifying: %v", err)
		}
	})
	t.Run("a proof for one job is none for another", func(t *testing.T) {
		w := newWorld(t)
		w.jobs[report.JobKey{Namespace: space, Name: "other"}] = "uid-other"
		token := w.issuer.Sign(tokens.KeyRSA, w.good())
		if _, err := w.Identify(t.Context(), token, job); err != nil {
			t.Fatal(err)
		}
		_, err := w.Identify(t.Context(), token, report.JobKey{Namespace: space, Name: "other"})
		wantRefusal(t, err, report.ErrOtherJob, "otherJob")
	})
}

func TestVerifiedTokenCostsNoCall(t *testing.T) {
	w := newWorld(t)
	token := w.issuer.Sign(tokens.KeyRSA, w.good())
	for range 100 {
		if _, err := w.Identify(t.Context(), token, job); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{tokens.PathReview, tokens.PathAccess} {
		if got := w.api.Count(path); got != 0 {
			t.Errorf("%d calls of %s, want 0", got, path)
		}
	}
	if got := w.api.Count(tokens.PathKeys); got != 1 {
		t.Errorf("%d fetches of keys, want 1", got)
	}
}
