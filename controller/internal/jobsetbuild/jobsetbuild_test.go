// SPDX-License-Identifier: Apache-2.0

package jobsetbuild_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	jobsetv1alpha2ac "sigs.k8s.io/jobset/client-go/applyconfiguration/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/jobsetbuild"
	"github.com/milepost-dev/milepost/controller/internal/mlpolicy"
	"github.com/milepost-dev/milepost/controller/internal/testkit/builders"
	"github.com/milepost-dev/milepost/controller/internal/testkit/plans"
)

func build(t *testing.T, runtime *builders.Runtime, job *builders.TrainJob) *jobsetv1alpha2ac.JobSetApplyConfiguration {
	t.Helper()
	object := job.Obj()
	plan := plans.Make(t, runtime, object)
	spec := runtime.Cluster().Spec
	if err := mlpolicy.Apply(plan, &spec, object); err != nil {
		t.Fatal(err)
	}
	jobSet, err := jobsetbuild.Build(plan, object)
	if err != nil {
		t.Fatal(err)
	}
	return jobSet
}

func TestBuildMetadata(t *testing.T) {
	runtime := builders.MakeRuntime("r").TemplateLabel("a", "1").TemplateAnnotation("b", "2")
	got := build(t, runtime, builders.MakeTrainJob("ns", "job").UID("u1").Label("mine", "stays").Suspend(true))
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var object jobsetv1alpha2.JobSet
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	want := metav1.ObjectMeta{
		Namespace: "ns", Name: "job", Labels: map[string]string{"a": "1"}, Annotations: map[string]string{"b": "2"},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "trainer.kubeflow.org/v1alpha1", Kind: "TrainJob", Name: "job", UID: "u1",
			Controller: new(true), BlockOwnerDeletion: new(true),
		}},
	}
	if diff := cmp.Diff(want, object.ObjectMeta); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if !ptr.Deref(object.Spec.Suspend, false) {
		t.Error("spec.suspend is not carried")
	}
}

func TestBuildCounts(t *testing.T) {
	type counts struct{ Replicas, Parallelism, Completions int32 }
	set := func(at int, replicas int32, parallelism, completions *int32) func(*jobsetv1alpha2.JobSetSpec) {
		return func(s *jobsetv1alpha2.JobSetSpec) {
			s.ReplicatedJobs[at].Replicas = replicas
			s.ReplicatedJobs[at].Template.Spec.Parallelism = parallelism
			s.ReplicatedJobs[at].Template.Spec.Completions = completions
		}
	}
	tests := map[string]struct {
		runtime *builders.Runtime
		job     *builders.TrainJob
		want    []counts
	}{
		"the trainer has one replica with all nodes": {
			runtime: builders.MakeRuntime("r").NumNodes(4).Edit(set(0, 3, ptr.To[int32](7), ptr.To[int32](9))),
			job:     builders.MakeTrainJob("ns", "job"), want: []counts{{1, 4, 4}},
		},
		"the TrainJob's number of nodes reaches both": {
			runtime: builders.MakeRuntime("r").NumNodes(4), job: builders.MakeTrainJob("ns", "job").NumNodes(16),
			want: []counts{{1, 16, 16}},
		},
		"initializers have one replica": {
			runtime: builders.MakeRuntime("r").Initializers().Edit(set(0, 2, nil, nil)), job: builders.MakeTrainJob("ns", "job").NumNodes(2),
			want: []counts{{1, 1, 1}, {1, 1, 1}, {1, 2, 2}},
		},
		"other jobs keep their numbers": {
			runtime: builders.MakeRuntime("r").Job("cache", "", builders.MakeContainer("c")).
				Edit(set(1, 3, ptr.To[int32](2), ptr.To[int32](5))),
			job: builders.MakeTrainJob("ns", "job").NumNodes(2), want: []counts{{1, 2, 2}, {3, 2, 5}},
		},
		"other jobs complete as many pods as they run when they do not say": {
			runtime: builders.MakeRuntime("r").Job("cache", "", builders.MakeContainer("c")).Edit(set(1, 3, ptr.To[int32](2), nil)),
			job:     builders.MakeTrainJob("ns", "job"), want: []counts{{1, 1, 1}, {3, 2, 2}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []counts
			for _, r := range build(t, tc.runtime, tc.job).Spec.ReplicatedJobs {
				got = append(got, counts{*r.Replicas, *r.Template.Spec.Parallelism, *r.Template.Spec.Completions})
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBuildTrainer(t *testing.T) {
	runtime := func() *builders.Runtime {
		return builders.MakeRuntime("r").EditNode(func(c *corev1.Container) {
			c.Command, c.Args = []string{"run"}, []string{"--slow"}
			c.Env = []corev1.EnvVar{{Name: "A", Value: "runtime"}, {Name: "B", Value: "runtime"}}
		})
	}
	type container struct {
		Image              string
		Command, Args, Env []string
	}
	fromRuntime := container{"example.com/node:1", []string{"run"}, []string{"--slow"}, []string{"A=runtime", "B=runtime"}}
	secret := builders.MakeTrainJob("ns", "job").Env("A", "").Obj()
	secret.Spec.Trainer.Env = []corev1.EnvVar{{
		Name: "A", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "k", Optional: new(true),
		}},
	}}
	tests := map[string]struct {
		runtime *builders.Runtime
		job     *builders.TrainJob
		want    container
	}{
		"nothing given leaves the runtime's": {runtime(), builders.MakeTrainJob("ns", "job"), fromRuntime},
		"an empty trainer changes nothing":   {runtime(), builders.MakeTrainJob("ns", "job").EmptyTrainer(), fromRuntime},
		"what is given replaces": {
			runtime(), builders.MakeTrainJob("ns", "job").Image("mine").Command("python", "-c", "x").Args("--fast", "1"),
			container{"mine", []string{"python", "-c", "x"}, []string{"--fast", "1"}, []string{"A=runtime", "B=runtime"}},
		},
		"variables of the user win and stand once": {
			runtime(), builders.MakeTrainJob("ns", "job").Env("C", "user").Env("A", "user"),
			container{"example.com/node:1", []string{"run"}, []string{"--slow"}, []string{"A=user", "B=runtime", "C=user"}},
		},
		"a variable of the user may come from a Secret": {
			runtime(), builders.FromTrainJob(secret),
			container{"example.com/node:1", []string{"run"}, []string{"--slow"}, []string{"A<-secret s/k", "B=runtime"}},
		},
		"a reserved variable of the user does not win, even where admission was away": {
			builders.MakeRuntime("r").XGBoost(), builders.MakeTrainJob("ns", "job").Env("DMLC_NUM_WORKER", "99").Env("MINE", "1"),
			container{"example.com/node:1", nil, nil, []string{
				"DMLC_TRACKER_URI=job-node-0-0.job", "DMLC_TRACKER_PORT=29500",
				"DMLC_TASK_ID<-metadata.annotations['batch.kubernetes.io/job-completion-index']", "DMLC_NUM_WORKER=1", "MINE=1",
			}},
		},
		"a variable of jax may be overridden": {
			builders.MakeRuntime("r").JAX(), builders.MakeTrainJob("ns", "job").Env("JAX_NUM_PROCESSES", "99"),
			container{"example.com/node:1", nil, nil, []string{
				"JAX_NUM_PROCESSES=99", "JAX_PROCESS_ID<-metadata.annotations['batch.kubernetes.io/job-completion-index']",
				"JAX_COORDINATOR_ADDRESS=job-node-0-0.job:29500",
			}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := build(t, tc.runtime, tc.job).Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0]
			got := container{ptr.Deref(c.Image, ""), c.Command, c.Args, plans.Env(c.Env)}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("container (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBuildInitializers(t *testing.T) {
	got := build(t, builders.MakeRuntime("r").Initializers(), builders.MakeTrainJob("ns", "job").
		Dataset(trainer.DatasetInitializer{
			StorageUri: new("hf://a/b"), Env: []corev1.EnvVar{{Name: "X", Value: "1"}, {Name: "STORAGE_URI", Value: "hf://mine"}},
			SecretRef: &corev1.LocalObjectReference{Name: "creds"},
		}).
		Model(trainer.ModelInitializer{StorageUri: new("s3://m/n")}))
	dataset := got.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0]
	if diff := cmp.Diff([]string{"STORAGE_URI=hf://mine", "X=1"}, plans.Env(dataset.Env)); diff != "" {
		t.Errorf("dataset env (-want +got):\n%s", diff)
	}
	if len(dataset.EnvFrom) != 1 || *dataset.EnvFrom[0].SecretRef.Name != "creds" {
		t.Errorf("dataset envFrom = %v", dataset.EnvFrom)
	}
	model := got.Spec.ReplicatedJobs[1].Template.Spec.Template.Spec.Containers[0]
	if diff := cmp.Diff([]string{"STORAGE_URI=s3://m/n"}, plans.Env(model.Env)); diff != "" {
		t.Errorf("model env (-want +got):\n%s", diff)
	}
	if env := got.Spec.ReplicatedJobs[2].Template.Spec.Template.Spec.Containers[0].Env; env != nil {
		t.Errorf("trainer env = %v", env)
	}
}

func TestBuildIsTheSameEveryTime(t *testing.T) {
	marshal := func() string {
		runtime := builders.MakeRuntime("r").Torch().Initializers().TemplateLabel("a", "1").TemplateLabel("b", "2")
		job := builders.MakeTrainJob("ns", "job").UID("u").NumNodes(3).Env("B", "1").Env("A", "2").Limit("cpu", "2").Limit("memory", "1Gi").
			PodPatch("example.com/x", "node", trainer.PodSpecPatch{NodeSelector: map[string]string{"a": "1", "b": "2"}})
		text, err := json.Marshal(build(t, runtime, job))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := marshal()
	for range 20 {
		if again := marshal(); again != first {
			t.Fatalf("JobSet would refuse the second:\n%s", cmp.Diff(first, again))
		}
	}
}

func TestCheckNames(t *testing.T) {
	claims := func(s *jobsetv1alpha2.JobSetSpec) {
		s.VolumeClaimPolicies = []jobsetv1alpha2.VolumeClaimPolicy{{
			Templates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "a-rather-long-name-of-a-claim"}}},
		}}
	}
	tests := map[string]struct {
		runtime *builders.Runtime
		length  int
		nodes   int32
		want    string
	}{
		"the longest name with one node":  {builders.MakeRuntime("r"), 48, 1, ""},
		"one character more":              {builders.MakeRuntime("r"), 49, 1, "must be no more than 48 characters with this runtime, so that the names of the 1 pods of \"node\" stay within 63"},
		"the longest name with ten nodes": {builders.MakeRuntime("r"), 48, 10, ""},
		"more nodes need longer names":    {builders.MakeRuntime("r"), 48, 11, "must be no more than 47 characters with this runtime, so that the names of the 11 pods of \"node\" stay within 63"},
		"the longest job name counts": {
			builders.MakeRuntime("r").Initializers(), 40, 1,
			"must be no more than 33 characters with this runtime, so that the names of the 1 pods of \"dataset-initializer\" stay within 63",
		},
		"volume claims count": {
			builders.MakeRuntime("r").Edit(claims), 40, 1,
			"must be no more than 33 characters with this runtime, so that the names of the volume claims of \"a-rather-long-name-of-a-claim\" stay within 63",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			errs := jobsetbuild.Check(build(t, tc.runtime, builders.MakeTrainJob("ns", strings.Repeat("x", tc.length)).NumNodes(tc.nodes)))
			got := ""
			if len(errs) > 0 {
				got = errs[0].Detail
			}
			if got != tc.want || len(errs) > 1 {
				t.Errorf("Check() = %v, want %q", errs, tc.want)
			}
			if len(errs) > 0 && errs[0].Field != "metadata.name" {
				t.Errorf("field = %s", errs[0].Field)
			}
		})
	}
}

func TestCheckReferences(t *testing.T) {
	dependsOn := func(name string) func(*jobsetv1alpha2.JobSetSpec) {
		return func(s *jobsetv1alpha2.JobSetSpec) {
			s.ReplicatedJobs[0].DependsOn = []jobsetv1alpha2.DependsOn{{Name: name, Status: jobsetv1alpha2.DependencyComplete}}
		}
	}
	tests := map[string]struct {
		runtime *builders.Runtime
		want    string
	}{
		"a job that depends on a later one": {
			builders.MakeRuntime("r").Job("after", "", builders.MakeContainer("c")).Edit(dependsOn("after")),
			`spec.runtimeRef: Invalid value: "after": replicated job "node" depends on it, but it does not come before in the runtime`,
		},
		"success by a job that is not there": {
			builders.MakeRuntime("r").Edit(func(s *jobsetv1alpha2.JobSetSpec) {
				s.SuccessPolicy = &jobsetv1alpha2.SuccessPolicy{Operator: jobsetv1alpha2.OperatorAll, TargetReplicatedJobs: []string{"gone"}}
			}),
			`spec.runtimeRef: Invalid value: "gone": successPolicy names a replicated job that the runtime does not have`,
		},
		"a job whose name is no label": {
			builders.MakeRuntime("r").Job("Upper", "", builders.MakeContainer("c")),
			`spec.runtimeRef: Invalid value: "Upper": name of a replicated job: a DNS-1035 label must consist of lower case alphanumeric characters`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			errs := jobsetbuild.Check(build(t, tc.runtime, builders.MakeTrainJob("ns", "job")))
			if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), tc.want) {
				t.Errorf("Check() = %v, want %s", errs, tc.want)
			}
		})
	}
}
