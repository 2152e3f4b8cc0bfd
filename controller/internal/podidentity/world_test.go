// SPDX-License-Identifier: Apache-2.0

package podidentity

import (
	"context"
	"errors"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
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

func (j jobsOf) Find(ctx context.Context, job report.JobKey) (types.UID, error) {
	return j.JobUID(ctx, job)
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
		client: newClient(scheme),
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

// newClient holds the training pod and its owners, and finds them by name in a
// list, as an API server does.
func newClient(scheme *runtime.Scheme) ctrlclient.Client {
	byName := func(object ctrlclient.Object) []string { return []string{object.GetName()} }
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(ownedPod()...)
	for _, object := range []ctrlclient.Object{&corev1.Pod{}, &batchv1.Job{}, &jobsetv1alpha2.JobSet{}} {
		builder = builder.WithIndex(object, "metadata.name", byName)
	}
	return builder.Build()
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
