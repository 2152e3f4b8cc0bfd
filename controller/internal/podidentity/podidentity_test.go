// SPDX-License-Identifier: Apache-2.0

package podidentity

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/milepost-dev/milepost/controller/internal/report"
	"github.com/milepost-dev/milepost/controller/internal/reportlink"
	"github.com/milepost-dev/milepost/controller/internal/testkit/tokens"
)

const (
	issuerURL = "https://kubernetes.default.svc"
	space     = "team"
	jobName   = "mnist"
	jobUID    = types.UID("uid-of-trainjob")
	podName   = "mnist-node-0-0-abcde"
	podUID    = types.UID("uid-of-pod")
)

var job = report.JobKey{Namespace: space, Name: jobName}

// jobsOf is the TrainJobs of today.
type jobsOf map[report.JobKey]types.UID

func (j jobsOf) JobUID(_ context.Context, job report.JobKey) (types.UID, error) {
	if uid, ok := j[job]; ok {
		return uid, nil
	}
	return "", report.Refuse(report.ErrUnknownJob, "unknownJob", "Train job not found")
}

// world is a cluster with one training pod, as seen through caches.
type world struct {
	issuer *tokens.Issuer
	api    *tokens.Server
	clock  *clocktesting.FakeClock
	jobs   jobsOf
	client ctrlclient.Client
	*Identifier
}

func newWorld(t *testing.T) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, jobsetv1alpha2.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	issuer := tokens.New(t, issuerURL)
	w := &world{
		issuer: issuer, api: issuer.Serve(),
		clock:  clocktesting.NewFakeClock(time.Now().Truncate(time.Second)),
		jobs:   jobsOf{job: jobUID},
		client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(ownedPod()...).Build(),
	}
	api, err := NewCluster(w.api.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Identifier, err = New(Config{Clock: w.clock}, w.client, w.jobs, api)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// ownedPod is a training pod with its owners.
func ownedPod() []ctrlclient.Object {
	return []ctrlclient.Object{
		&corev1.Pod{ObjectMeta: owned(podName, podUID, "batch/v1", "Job", "mnist-node-0", "uid-of-job")},
		&batchv1.Job{ObjectMeta: owned("mnist-node-0", "uid-of-job", "jobset.x-k8s.io/v1alpha2", "JobSet", jobName, "uid-of-jobset")},
		&jobsetv1alpha2.JobSet{ObjectMeta: owned(jobName, "uid-of-jobset", "trainer.kubeflow.org/v1alpha1", "TrainJob", jobName, jobUID)},
	}
}

func owned(name string, uid types.UID, apiVersion, kind, owner string, ownerUID types.UID) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: space, Name: name, UID: uid,
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: apiVersion, Kind: kind, Name: owner, UID: ownerUID,
			Controller: new(true), BlockOwnerDeletion: new(true),
		}},
	}
}

// good returns the claims of the training pod's own token.
func (w *world) good() tokens.Claims {
	return w.issuer.Pod(w.clock.Now(), reportlink.Audience(space, jobName), space, podName, string(podUID))
}

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

// accept says yes to every token, as an API server does to one that it issued.
func accept(spec authenticationv1.TokenReviewSpec) authenticationv1.TokenReviewStatus {
	return authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: spec.Audiences,
		User: authenticationv1.UserInfo{Username: "system:serviceaccount:team:launcher", Groups: []string{"system:authenticated"}},
	}
}

func (w *world) create(t *testing.T, object ctrlclient.Object) {
	t.Helper()
	if err := w.client.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

func (w *world) remove(t *testing.T, object ctrlclient.Object, name string) {
	t.Helper()
	object.SetNamespace(space)
	object.SetName(name)
	if err := w.client.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

func wantRefusal(t *testing.T, err, want error, reason string) {
	t.Helper()
	var refusal *report.Refusal
	if !errors.As(err, &refusal) || !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
	if refusal.Reason != reason {
		t.Errorf("reason %q (%s), want %q", refusal.Reason, refusal.Message, reason)
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
