// SPDX-License-Identifier: Apache-2.0

package reporterwiring_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/milepost-dev/milepost/controller/internal/reporterwiring"
	"github.com/milepost-dev/milepost/controller/internal/runtimeplan"
	"github.com/milepost-dev/milepost/controller/internal/testkit/builders"
	"github.com/milepost-dev/milepost/controller/internal/testkit/plans"
)

var endpoint = reporterwiring.Endpoint{Host: "svc.kubeflow-system.svc", Port: 10443}

var wantEnv = []string{
	"KUBEFLOW_TRAINER_SERVER_URL=https://svc.kubeflow-system.svc:10443/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/job/status",
	"KUBEFLOW_TRAINER_SERVER_CA_CERT=/var/run/secrets/kubeflow/trainer/ca.crt",
	"KUBEFLOW_TRAINER_SERVER_TOKEN=/var/run/secrets/kubeflow/trainer/token",
}

func TestWire(t *testing.T) {
	runtime := builders.MakeEmptyRuntime("r").
		Initializers().
		Job("launcher", "trainer", builders.MakeContainer("node"), builders.MakeContainer("sidecar")).
		Job("second", "trainer", builders.MakeContainer("node")).
		Job("node", "", builders.MakeContainer("node")).
		Edit(func(s *jobsetv1alpha2.JobSetSpec) {
			pod := &s.ReplicatedJobs[2].Template.Spec.Template.Spec
			pod.InitContainers = []corev1.Container{builders.MakeContainer("setup")}
			pod.Volumes = []corev1.Volume{{Name: "data"}}
			pod.Containers[0].Env = []corev1.EnvVar{{Name: "KUBEFLOW_TRAINER_SERVER_TOKEN", Value: "/old"}, {Name: "A", Value: "1"}}
		})
	plan := plans.Make(t, runtime, builders.MakeTrainJob("ns", "job").Obj())
	reporterwiring.Wire(plan, endpoint, "ns")

	wantMount := []corev1ac.VolumeMountApplyConfiguration{*corev1ac.VolumeMount().
		WithName("kubeflow-trainer-token").WithMountPath("/var/run/secrets/kubeflow/trainer").WithReadOnly(true)}
	for path, want := range map[string][]string{
		"launcher/node":    {wantEnv[2], "A=1", wantEnv[0], wantEnv[1]},
		"launcher/sidecar": wantEnv,
		"launcher/setup":   nil,
		"second/node":      nil,
		"node/node":        nil,
		"dataset-initializer/dataset-initializer": nil,
		"model-initializer/model-initializer":     nil,
	} {
		if diff := cmp.Diff(want, plans.EnvOf(t, plan, path)); diff != "" {
			t.Errorf("env of %s (-want +got):\n%s", path, diff)
		}
	}
	launcher := plan.PodSet("launcher")
	for _, c := range launcher.Pod.Containers {
		if diff := cmp.Diff(wantMount, c.VolumeMounts); diff != "" {
			t.Errorf("mounts of %s (-want +got):\n%s", *c.Name, diff)
		}
	}
	if mounts := launcher.AnyContainer("setup").VolumeMounts; mounts != nil {
		t.Errorf("init container has mounts %v", mounts)
	}
	wantVolumes := []corev1ac.VolumeApplyConfiguration{
		*corev1ac.Volume().WithName("data"),
		*corev1ac.Volume().WithName("kubeflow-trainer-token").WithProjected(corev1ac.ProjectedVolumeSource().WithSources(
			corev1ac.VolumeProjection().WithServiceAccountToken(corev1ac.ServiceAccountTokenProjection().
				WithAudience("trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/job/status").
				WithExpirationSeconds(3600).WithPath("token")),
			corev1ac.VolumeProjection().WithConfigMap(corev1ac.ConfigMapProjection().
				WithName("job-tls-config").WithItems(corev1ac.KeyToPath().WithKey("ca.crt").WithPath("ca.crt"))),
		)),
	}
	if diff := cmp.Diff(wantVolumes, launcher.Pod.Volumes); diff != "" {
		t.Errorf("volumes (-want +got):\n%s", diff)
	}
	if volumes := plan.PodSet("node").Pod.Volumes; volumes != nil {
		t.Errorf("a job that does not train has volumes %v", volumes)
	}
}

func TestWireTwiceIsWireOnce(t *testing.T) {
	newPlan := func() *runtimeplan.Plan {
		return plans.Make(t, builders.MakeRuntime("r"), builders.MakeTrainJob("ns", "job").Obj())
	}
	once, twice := newPlan(), newPlan()
	reporterwiring.Wire(once, endpoint, "ns")
	reporterwiring.Wire(twice, endpoint, "ns")
	reporterwiring.Wire(twice, endpoint, "ns")
	if diff := cmp.Diff(once, twice); diff != "" {
		t.Errorf("plan (-once +twice):\n%s", diff)
	}
}

func TestWireNeedsATrainer(t *testing.T) {
	plan := &runtimeplan.Plan{PodSets: []runtimeplan.PodSet{{Name: "node", Pod: &corev1ac.PodSpecApplyConfiguration{}}}}
	reporterwiring.Wire(plan, endpoint, "ns")
	if diff := cmp.Diff(&corev1ac.PodSpecApplyConfiguration{}, plan.PodSets[0].Pod); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
}

func TestAuthority(t *testing.T) {
	made := reporterwiring.Authority("ns", "job", "old\nnew")
	if *made.Name != "job-tls-config" || *made.Namespace != "ns" || made.Data["ca.crt"] != "old\nnew" {
		t.Errorf("Authority() = %s/%s %v", *made.Namespace, *made.Name, made.Data)
	}
	if !reporterwiring.HoldsAuthority(made.Annotations, "old\nnew") {
		t.Error("it does not know what it holds")
	}
	if reporterwiring.HoldsAuthority(made.Annotations, "new") || reporterwiring.HoldsAuthority(nil, "new") {
		t.Error("it claims to hold what it does not")
	}
}

func TestEndpointValidate(t *testing.T) {
	tests := map[string]struct {
		endpoint reporterwiring.Endpoint
		want     string
	}{
		"a host and a port":         {endpoint, ""},
		"no host":                   {reporterwiring.Endpoint{Port: 1}, "the host of the status server is empty"},
		"no port":                   {reporterwiring.Endpoint{Host: "h"}, "the port of the status server is 0, it must be between 1 and 65535"},
		"a port beyond the largest": {reporterwiring.Endpoint{Host: "h", Port: 65536}, "the port of the status server is 65536, it must be between 1 and 65535"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := tc.endpoint.Validate(); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("Validate() = %q, want %q", got, tc.want)
			}
		})
	}
}
