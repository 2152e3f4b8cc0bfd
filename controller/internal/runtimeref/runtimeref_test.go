// SPDX-License-Identifier: Apache-2.0

package runtimeref_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/runtimeref"
	"github.com/milepost-dev/milepost/controller/internal/testkit/builders"
	"github.com/milepost-dev/milepost/controller/internal/testkit/envtest"
)

// store is an in-memory stand-in for the API server or its cache.
func store(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme, err := envtest.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

// snapshotOf is the ConfigMap that a TrainJob with the given UID would own.
func snapshotOf(t *testing.T, owner types.UID, runtime *builders.Runtime) *corev1.ConfigMap {
	t.Helper()
	kept, err := runtimeref.Snapshot(builders.MakeTrainJob("ns", "job").Obj(), resolved(runtime))
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: *kept.Name,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: trainer.GroupVersion.String(), Kind: trainer.TrainJobKind, Name: "job", UID: owner, Controller: new(true),
			}},
		},
		Data: kept.Data,
	}
}

func TestResolve(t *testing.T) {
	type want struct {
		Kind         string
		NumNodes     int32
		FromSnapshot bool
	}
	job := func() *builders.TrainJob { return builders.MakeTrainJob("ns", "job").UID("u1") }
	tests := map[string]struct {
		job          *builders.TrainJob
		cached, live []client.Object
		want         want
	}{
		"a cluster-wide runtime": {
			job:    job(),
			cached: []client.Object{builders.MakeRuntime("runtime").NumNodes(2).Cluster()},
			want:   want{"ClusterTrainingRuntime", 2, false},
		},
		"a runtime of the namespace, not of another one": {
			job: job().NamespacedRuntime("runtime"),
			cached: []client.Object{
				builders.MakeRuntime("runtime").NumNodes(2).Namespaced("ns"), builders.MakeRuntime("runtime").NumNodes(3).Namespaced("other"),
				builders.MakeRuntime("runtime").NumNodes(4).Cluster(),
			},
			want: want{"TrainingRuntime", 2, false},
		},
		"a runtime that the cache does not know yet": {
			job:  job(),
			live: []client.Object{builders.MakeRuntime("runtime").NumNodes(5).Cluster()},
			want: want{"ClusterTrainingRuntime", 5, false},
		},
		"a reference without group and kind means the default": {
			job: func() *builders.TrainJob {
				j := job().Obj()
				j.Spec.RuntimeRef.APIGroup, j.Spec.RuntimeRef.Kind = nil, nil
				return builders.FromTrainJob(j)
			}(),
			cached: []client.Object{builders.MakeRuntime("runtime").NumNodes(2).Cluster()},
			want:   want{"ClusterTrainingRuntime", 2, false},
		},
		"the snapshot counts before the runtime": {
			job:    job(),
			cached: []client.Object{builders.MakeRuntime("runtime").NumNodes(2).Cluster()},
			live:   []client.Object{snapshotOf(t, "u1", builders.MakeRuntime("runtime").NumNodes(9))},
			want:   want{"ClusterTrainingRuntime", 9, true},
		},
		"the snapshot is enough": {
			job:  job(),
			live: []client.Object{snapshotOf(t, "u1", builders.MakeRuntime("runtime").NumNodes(9))},
			want: want{"ClusterTrainingRuntime", 9, true},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			resolver := runtimeref.Resolver{Cached: store(t, tc.cached...), Live: store(t, tc.live...)}
			got, err := resolver.Resolve(t.Context(), tc.job.Obj())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, want{got.Kind, *got.Spec.MLPolicy.NumNodes, got.FromSnapshot}); diff != "" {
				t.Errorf("Resolve() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResolveErrors(t *testing.T) {
	job := builders.MakeTrainJob("ns", "job").UID("u1")
	foreign := snapshotOf(t, "u1", builders.MakeRuntime("runtime"))
	foreign.OwnerReferences = nil
	empty := snapshotOf(t, "u1", builders.MakeRuntime("runtime"))
	empty.Data = nil
	broken := snapshotOf(t, "u1", builders.MakeRuntime("runtime"))
	broken.Data["runtime"] = "{"
	tests := map[string]struct {
		job  *builders.TrainJob
		live []client.Object
		is   error
		want string
	}{
		"nothing there": {
			job: job, want: `ClusterTrainingRuntime.trainer.kubeflow.org "runtime" not found`,
		},
		"another kind": {
			job:  builders.MakeTrainJob("ns", "job").RuntimeKind("argoproj.io", "Workflow"),
			want: "unsupported runtime: Workflow.argoproj.io",
		},
		"the snapshot of a deleted TrainJob of the same name": {
			job: job, live: []client.Object{snapshotOf(t, "u0", builders.MakeRuntime("runtime"))}, is: runtimeref.ErrPredecessor,
			want: `reading runtime snapshot "job-runtime-snapshot": an object of a deleted TrainJob of this name is still being removed`,
		},
		"a ConfigMap of somebody else": {
			job: job, live: []client.Object{foreign},
			want: `reading runtime snapshot "job-runtime-snapshot": a ConfigMap of this name exists and does not belong to the TrainJob`,
		},
		"a snapshot of another runtime": {
			job: job, live: []client.Object{snapshotOf(t, "u1", builders.MakeRuntime("other"))},
			want: `reading runtime snapshot "job-runtime-snapshot": it holds ClusterTrainingRuntime.trainer.kubeflow.org "other", the TrainJob names ClusterTrainingRuntime.trainer.kubeflow.org "runtime"`,
		},
		"a snapshot without content": {
			job: job, live: []client.Object{empty},
			want: `reading runtime snapshot "job-runtime-snapshot": it has no key "runtime"`,
		},
		"a snapshot that does not parse": {
			job: job, live: []client.Object{broken},
			want: `reading runtime snapshot "job-runtime-snapshot": parsing key "runtime": error converting YAML to JSON: yaml: line 1: did not find expected node content`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			resolver := runtimeref.Resolver{Cached: store(t), Live: store(t, tc.live...)}
			_, err := resolver.Resolve(t.Context(), tc.job.Obj())
			if err == nil || err.Error() != tc.want {
				t.Errorf("Resolve() error = %v\nwant %s", err, tc.want)
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("Resolve() error = %v, want it to be %v", err, tc.is)
			}
		})
	}
}

func TestResolvePassesInjectedErrorsOn(t *testing.T) {
	down := errors.New("connection refused")
	broken := interceptor.NewClient(store(t), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return down
		},
	})
	job := builders.MakeTrainJob("ns", "job").UID("u1").Obj()
	if _, err := (runtimeref.Resolver{Cached: store(t), Live: broken}).Resolve(t.Context(), job); !errors.Is(err, down) {
		t.Errorf("reading the snapshot: error = %v, want %v", err, down)
	}
	if _, err := (runtimeref.Resolver{Cached: broken, Live: store(t)}).Resolve(t.Context(), job); !errors.Is(err, down) {
		t.Errorf("reading the runtime: error = %v, want %v", err, down)
	}
}

func TestReferencedIgnoresTheSnapshot(t *testing.T) {
	resolver := runtimeref.Resolver{
		Cached: store(t, builders.MakeRuntime("runtime").NumNodes(2).Label(trainer.LabelSupport, trainer.SupportDeprecated).Cluster()),
		Live:   store(t, snapshotOf(t, "u1", builders.MakeRuntime("runtime").NumNodes(9))),
	}
	got, err := resolver.Referenced(t.Context(), builders.MakeTrainJob("ns", "job").UID("u1").Obj())
	if err != nil {
		t.Fatal(err)
	}
	if *got.Spec.MLPolicy.NumNodes != 2 || !got.Deprecated() {
		t.Errorf("Referenced() = %d nodes, deprecated %t, want the runtime of today", *got.Spec.MLPolicy.NumNodes, got.Deprecated())
	}
}
