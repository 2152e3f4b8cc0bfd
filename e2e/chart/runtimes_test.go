// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

func TestRuntimesAreInstalledOnDemand(t *testing.T) {
	h := findHelm(t, "helm4")
	for situation, tc := range map[string]struct {
		set  string
		want []string
	}{
		"none by default":  {set: "crds.enabled=true"},
		"one by its name":  {set: "runtimes.torchDistributed.enabled=true", want: []string{"torch-distributed"}},
		"all with a value": {set: "runtimes.defaultEnabled=true", want: []string{"plain-distributed", "torch-distributed"}},
	} {
		t.Run(situation, func(t *testing.T) {
			var got []string
			for _, runtime := range builtinRuntimes(t, h.mustTemplate(t, "--set", tc.set)) {
				got = append(got, runtime.Name)
				if runtime.Labels["trainer.kubeflow.org/framework"] == "" || runtime.Labels["trainer.kubeflow.org/webhook-validation"] != "disabled" {
					t.Errorf("%s has labels %v", runtime.Name, runtime.Labels)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("runtimes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheTorchRuntimeIsWhatTheSDKExpects(t *testing.T) {
	runtimes := builtinRuntimes(t, findHelm(t, "helm4").mustTemplate(t, "--set", "runtimes.torchDistributed.enabled=true"))
	torch := runtimes[0]
	if torch.Spec.MLPolicy == nil || torch.Spec.MLPolicy.Torch == nil || *torch.Spec.MLPolicy.NumNodes != 1 {
		t.Errorf("policy is %+v, want torch on one node", torch.Spec.MLPolicy)
	}
	node := torch.Spec.Template.Spec.ReplicatedJobs[0]
	container := node.Template.Spec.Template.Spec.Containers[0]
	if node.Name != "node" || node.Template.Labels["trainer.kubeflow.org/trainjob-ancestor-step"] != "trainer" || container.Name != "node" {
		t.Errorf("replicated job is %+v", node)
	}
	if want := "pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime"; container.Image != want {
		t.Errorf("image is %s, want %s", container.Image, want)
	}
}

// builtinRuntimes reads the runtimes that the manager is given to install.
func builtinRuntimes(t *testing.T, m manifests) []trainer.ClusterTrainingRuntime {
	t.Helper()
	var runtimes []trainer.ClusterTrainingRuntime
	for _, object := range m {
		if object.GetKind() != "ConfigMap" || !strings.HasSuffix(object.GetName(), "-runtimes") {
			continue
		}
		for file, text := range get[corev1.ConfigMap](t, m, "ConfigMap", object.GetName()).Data {
			var runtime trainer.ClusterTrainingRuntime
			if err := yaml.UnmarshalStrict([]byte(text), &runtime); err != nil {
				t.Fatalf("reading %s: %v", file, err)
			}
			runtimes = append(runtimes, runtime)
		}
	}
	return runtimes
}
