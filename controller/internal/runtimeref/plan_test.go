// SPDX-License-Identifier: Apache-2.0

package runtimeref_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/runtimeplan"
	"github.com/milepost-dev/milepost/controller/internal/runtimeref"
	"github.com/milepost-dev/milepost/controller/internal/testkit/builders"
)

func resolved(b *builders.Runtime) *runtimeref.Runtime {
	object := b.Cluster()
	return &runtimeref.Runtime{Kind: trainer.ClusterTrainingRuntimeKind, Meta: object.ObjectMeta, Spec: object.Spec}
}

func TestNewPlanPodSets(t *testing.T) {
	type podSet struct {
		Name, Ancestor string
		Count          int32
	}
	parallel := func(n int32) func(*jobsetv1alpha2.JobSetSpec) {
		return func(s *jobsetv1alpha2.JobSetSpec) {
			for i := range s.ReplicatedJobs {
				s.ReplicatedJobs[i].Template.Spec.Parallelism = &n
			}
		}
	}
	tests := map[string]struct {
		runtime *builders.Runtime
		want    []podSet
	}{
		"the trainer has one node when the runtime does not say": {
			runtime: builders.MakeRuntime("r"),
			want:    []podSet{{"node", "trainer", 1}},
		},
		"the trainer has the nodes of the policy, whatever the template says": {
			runtime: builders.MakeRuntime("r").NumNodes(4).Edit(parallel(9)),
			want:    []podSet{{"node", "trainer", 4}},
		},
		"without a policy the template counts": {
			runtime: builders.MakeRuntime("r").NoPolicy().Edit(parallel(9)),
			want:    []podSet{{"node", "trainer", 9}},
		},
		"a number below one is one": {
			runtime: builders.MakeRuntime("r").NumNodes(0),
			want:    []podSet{{"node", "trainer", 1}},
		},
		"initializers and others have the pods of the template": {
			runtime: builders.MakeRuntime("r").NumNodes(4).Initializers().Job("cache", "", builders.MakeContainer("c")).Edit(parallel(2)),
			want: []podSet{
				{"dataset-initializer", "dataset-initializer", 2},
				{"model-initializer", "model-initializer", 2},
				{"node", "trainer", 4},
				{"cache", "", 2},
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			plan, err := runtimeref.NewPlan(resolved(tc.runtime), builders.MakeTrainJob("ns", "job").Obj())
			if err != nil {
				t.Fatal(err)
			}
			var got []podSet
			for _, ps := range plan.PodSets {
				got = append(got, podSet{ps.Name, ps.Ancestor, ps.Count})
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("pod sets (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewPlanRefusesUnusableRuntimes(t *testing.T) {
	tests := map[string]struct {
		runtime *builders.Runtime
		want    string
	}{
		"without replicated jobs": {
			builders.MakeEmptyRuntime("r"),
			`ClusterTrainingRuntime "r" cannot be used: none of its replicated jobs has the label trainer.kubeflow.org/trainjob-ancestor-step: trainer`,
		},
		"with initializers alone": {
			builders.MakeEmptyRuntime("r").Initializers(),
			`ClusterTrainingRuntime "r" cannot be used: none of its replicated jobs has the label trainer.kubeflow.org/trainjob-ancestor-step: trainer`,
		},
		"without the container that trains": {
			builders.MakeEmptyRuntime("r").Job("workers", "trainer", builders.MakeContainer("main")),
			`ClusterTrainingRuntime "r" cannot be used: its replicated job "workers" has no container "node"`,
		},
		"without any container": {
			builders.MakeEmptyRuntime("r").Job("workers", "trainer"),
			`ClusterTrainingRuntime "r" cannot be used: its replicated job "workers" has no container "node"`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := runtimeref.NewPlan(resolved(tc.runtime), builders.MakeTrainJob("ns", "job").Obj())
			var unusable *runtimeref.UnusableError
			if !errors.As(err, &unusable) || err.Error() != tc.want {
				t.Errorf("NewPlan() error = %v, want UnusableError %s", err, tc.want)
			}
		})
	}
}

// patched is a TrainJob with patches of two managers, the second of which speaks
// twice about the same pods.
func patched() *trainer.TrainJob {
	return builders.MakeTrainJob("ns", "job").
		Patch("a.example.com/first", trainer.JobSetTemplatePatch{Metadata: &metav1.ObjectMeta{
			Name: "ignored", Labels: map[string]string{"team": "b", "queue": "q"}, Annotations: map[string]string{"more": "y"},
		}}).
		PodPatch("a.example.com/second", "node", trainer.PodSpecPatch{
			NodeSelector:                  map[string]string{"pool": "a", "disk": "ssd"},
			ServiceAccountName:            new("trainer"),
			TerminationGracePeriodSeconds: new(int64(90)),
			Tolerations:                   []corev1.Toleration{{Key: "gpu"}},
			Volumes:                       []corev1.Volume{{Name: "cache"}},
			Containers: []trainer.ContainerPatch{{
				Name: "node", VolumeMounts: []corev1.VolumeMount{{Name: "cache", MountPath: "/cache"}},
			}},
		}).
		PodPatch("b.example.com/third", "node", trainer.PodSpecPatch{
			NodeSelector: map[string]string{"pool": "b"},
			Tolerations:  []corev1.Toleration{{Key: "other"}},
		}).Obj()
}

func patchable() *builders.Runtime {
	return builders.MakeRuntime("r").TemplateLabel("team", "a").TemplateAnnotation("note", "x").Initializers().
		EditNode(func(c *corev1.Container) {
			c.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
		})
}

func TestNewPlanMergesPatches(t *testing.T) {
	plan, err := runtimeref.NewPlan(resolved(patchable()), patched())
	if err != nil {
		t.Fatal(err)
	}
	var got jobsetv1alpha2.JobSet
	text, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"labels": plan.Labels, "annotations": plan.Annotations}, "spec": plan.Spec,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := jobsetv1alpha2.JobSet{
		ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{"team": "b", "queue": "q"}, Annotations: map[string]string{"note": "x", "more": "y"},
		},
		Spec: patchable().Cluster().Spec.Template.Spec, // in the order of the runtime
	}
	pod := &want.Spec.ReplicatedJobs[2].Template.Spec.Template.Spec
	pod.NodeSelector = map[string]string{"pool": "b", "disk": "ssd"}
	pod.ServiceAccountName = "trainer"
	pod.TerminationGracePeriodSeconds = new(int64(90))
	pod.Tolerations = []corev1.Toleration{{Key: "other"}} // a whole that the last patch sets
	pod.Volumes = []corev1.Volume{{Name: "cache"}}
	pod.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "cache", MountPath: "/cache"}, {Name: "data", MountPath: "/data"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("JobSet (-want +got):\n%s", diff)
	}
}

func TestNewPlanChangesNeitherArgument(t *testing.T) {
	runtime, job := resolved(patchable()), patched()
	if _, err := runtimeref.NewPlan(runtime, job); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(resolved(patchable()), runtime); diff != "" {
		t.Errorf("the runtime was changed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(patched(), job); diff != "" {
		t.Errorf("the TrainJob was changed (-want +got):\n%s", diff)
	}
}

func TestNewPlanRefusesPatchOfUnknownJob(t *testing.T) {
	job := builders.MakeTrainJob("ns", "job").PodPatch("example.com/me", "gone", trainer.PodSpecPatch{}).Obj()
	_, err := runtimeref.NewPlan(resolved(builders.MakeRuntime("r")), job)
	var unknown *runtimeref.UnknownReplicatedJobError
	if !errors.As(err, &unknown) || unknown.ReplicatedJob != "gone" || unknown.Manager != "example.com/me" {
		t.Errorf("NewPlan() error = %v, want UnknownReplicatedJobError", err)
	}
}

func TestNewPlanMergesResources(t *testing.T) {
	type list = corev1.ResourceList
	quantity := resource.MustParse
	runtime := func() *builders.Runtime {
		return builders.MakeRuntime("r").EditNode(func(c *corev1.Container) {
			c.Resources.Requests = list{"cpu": quantity("4"), "memory": quantity("8Gi")}
			c.Resources.Limits = list{"cpu": quantity("4"), "nvidia.com/gpu": quantity("1")}
			c.Resources.Claims = []corev1.ResourceClaim{{Name: "nic"}}
		})
	}
	tests := map[string]struct {
		job                    *builders.TrainJob
		wantRequests, wantLims list
	}{
		"nothing given changes nothing": {
			job:          builders.MakeTrainJob("ns", "job"),
			wantRequests: list{"cpu": quantity("4"), "memory": quantity("8Gi")},
			wantLims:     list{"cpu": quantity("4"), "nvidia.com/gpu": quantity("1")},
		},
		"one resource leaves the others": {
			job:          builders.MakeTrainJob("ns", "job").Request("memory", "16Gi").Limit("memory", "16Gi"),
			wantRequests: list{"cpu": quantity("4"), "memory": quantity("16Gi")},
			wantLims:     list{"cpu": quantity("4"), "memory": quantity("16Gi"), "nvidia.com/gpu": quantity("1")},
		},
		"a limit below the inherited request lowers it": {
			job:          builders.MakeTrainJob("ns", "job").Limit("cpu", "2"),
			wantRequests: list{"cpu": quantity("2"), "memory": quantity("8Gi")},
			wantLims:     list{"cpu": quantity("2"), "nvidia.com/gpu": quantity("1")},
		},
		"a request above the inherited limit raises it": {
			job:          builders.MakeTrainJob("ns", "job").Request("nvidia.com/gpu", "8"),
			wantRequests: list{"cpu": quantity("4"), "memory": quantity("8Gi"), "nvidia.com/gpu": quantity("8")},
			wantLims:     list{"cpu": quantity("4"), "nvidia.com/gpu": quantity("8")},
		},
		"a limit above the request leaves it": {
			job:          builders.MakeTrainJob("ns", "job").Limit("cpu", "6"),
			wantRequests: list{"cpu": quantity("4"), "memory": quantity("8Gi")},
			wantLims:     list{"cpu": quantity("6"), "nvidia.com/gpu": quantity("1")},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			plan, err := runtimeref.NewPlan(resolved(runtime()), tc.job.Obj())
			if err != nil {
				t.Fatal(err)
			}
			got := plan.PodSet("node").Container(runtimeplan.NodeContainer).Resources
			if diff := cmp.Diff(tc.wantRequests, ptr.Deref(got.Requests, nil)); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantLims, ptr.Deref(got.Limits, nil)); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
			if len(got.Claims) != 1 || *got.Claims[0].Name != "nic" {
				t.Errorf("claims = %v", got.Claims)
			}
		})
	}
}

func TestNewPlanMergesClaims(t *testing.T) {
	runtime := builders.MakeRuntime("r").EditNode(func(c *corev1.Container) {
		c.Resources.Claims = []corev1.ResourceClaim{{Name: "nic"}, {Name: "gpu"}}
	})
	job := builders.MakeTrainJob("ns", "job").EmptyTrainer().Obj()
	job.Spec.Trainer.ResourcesPerNode = &corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu", Request: "big"}, {Name: "fpga"}}}
	plan, err := runtimeref.NewPlan(resolved(runtime), job)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, claim := range plan.PodSet("node").Container("node").Resources.Claims {
		got = append(got, *claim.Name+"/"+ptr.Deref(claim.Request, ""))
	}
	if diff := cmp.Diff([]string{"nic/", "gpu/big", "fpga/"}, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
}
