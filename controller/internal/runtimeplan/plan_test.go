// SPDX-License-Identifier: Apache-2.0

package runtimeplan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	jobsetv1alpha2ac "sigs.k8s.io/jobset/client-go/applyconfiguration/jobset/v1alpha2"
)

func TestSetEnv(t *testing.T) {
	tests := map[string]struct {
		before, set []corev1ac.EnvVarApplyConfiguration
		want        []corev1ac.EnvVarApplyConfiguration
	}{
		"new names are appended in their order": {
			before: []corev1ac.EnvVarApplyConfiguration{Env("A", "1")},
			set:    []corev1ac.EnvVarApplyConfiguration{Env("C", "3"), Env("B", "2")},
			want:   []corev1ac.EnvVarApplyConfiguration{Env("A", "1"), Env("C", "3"), Env("B", "2")},
		},
		"a known name keeps its place and stands once": {
			before: []corev1ac.EnvVarApplyConfiguration{Env("A", "1"), Env("B", "$(A)")},
			set:    []corev1ac.EnvVarApplyConfiguration{Env("A", "2")},
			want:   []corev1ac.EnvVarApplyConfiguration{Env("A", "2"), Env("B", "$(A)")},
		},
		"a source of a value is replaced as a whole": {
			before: []corev1ac.EnvVarApplyConfiguration{EnvPodIndex("A")},
			set:    []corev1ac.EnvVarApplyConfiguration{Env("A", "2")},
			want:   []corev1ac.EnvVarApplyConfiguration{Env("A", "2")},
		},
		"of two new ones with the same name the last counts": {
			set:  []corev1ac.EnvVarApplyConfiguration{Env("A", "1"), Env("A", "2")},
			want: []corev1ac.EnvVarApplyConfiguration{Env("A", "2")},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			container := &corev1ac.ContainerApplyConfiguration{Env: tc.before}
			SetEnv(container, tc.set...)
			if diff := cmp.Diff(tc.want, container.Env); diff != "" {
				t.Errorf("env (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAddPorts(t *testing.T) {
	port := func(n int32) *corev1ac.ContainerPortApplyConfiguration {
		return corev1ac.ContainerPort().WithContainerPort(n)
	}
	tests := map[string]struct {
		before, want []corev1ac.ContainerPortApplyConfiguration
	}{
		"a port that is not declared is added": {
			before: []corev1ac.ContainerPortApplyConfiguration{*port(80)},
			want:   []corev1ac.ContainerPortApplyConfiguration{*port(80), *port(29500)},
		},
		"a port that is declared keeps its name": {
			before: []corev1ac.ContainerPortApplyConfiguration{*port(29500).WithName("master").WithProtocol(corev1.ProtocolTCP)},
			want:   []corev1ac.ContainerPortApplyConfiguration{*port(29500).WithName("master").WithProtocol(corev1.ProtocolTCP)},
		},
		"the same number with another protocol is another port": {
			before: []corev1ac.ContainerPortApplyConfiguration{*port(29500).WithProtocol(corev1.ProtocolUDP)},
			want:   []corev1ac.ContainerPortApplyConfiguration{*port(29500).WithProtocol(corev1.ProtocolUDP), *port(29500)},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			container := &corev1ac.ContainerApplyConfiguration{Ports: tc.before}
			AddPorts(container, *port(29500))
			if diff := cmp.Diff(tc.want, container.Ports); diff != "" {
				t.Errorf("ports (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDevices(t *testing.T) {
	quantities := func(pairs ...string) *corev1.ResourceList {
		list := corev1.ResourceList{}
		for i := 0; i < len(pairs); i += 2 {
			list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
		}
		return &list
	}
	tests := map[string]struct {
		requests, limits   *corev1.ResourceList
		wantGPUs, wantCPUs int64
	}{
		"nothing is asked for":                          {},
		"CPUs are rounded up":                           {requests: quantities("cpu", "2500m"), wantCPUs: 3},
		"a request counts before a limit":               {requests: quantities("cpu", "2"), limits: quantities("cpu", "8"), wantCPUs: 2},
		"a limit counts without a request":              {limits: quantities("cpu", "8", "nvidia.com/gpu", "4"), wantCPUs: 8, wantGPUs: 4},
		"GPUs of every vendor count":                    {limits: quantities("amd.com/gpu", "2"), wantGPUs: 2},
		"a name that mentions GPUs counts":              {limits: quantities("gpu.intel.com/i915", "1"), wantGPUs: 1},
		"an amount of GPU memory is no number of GPUs":  {limits: quantities("nvidia.com/gpu", "1", "nvidia.com/gpumem", "3000"), wantGPUs: 1},
		"memory alone says nothing about GPUs and CPUs": {limits: quantities("memory", "8Gi")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			container := corev1ac.Container().WithResources(&corev1ac.ResourceRequirementsApplyConfiguration{Requests: tc.requests, Limits: tc.limits})
			if got := GPUs(container); got != tc.wantGPUs {
				t.Errorf("GPUs() = %d, want %d", got, tc.wantGPUs)
			}
			if got := CPUs(container); got != tc.wantCPUs {
				t.Errorf("CPUs() = %d, want %d", got, tc.wantCPUs)
			}
		})
	}
	if GPUs(nil) != 0 || CPUs(nil) != 0 {
		t.Error("a container that is not there asks for something")
	}
}

func TestFirstPodHost(t *testing.T) {
	tests := map[string]struct {
		network *jobsetv1alpha2ac.NetworkApplyConfiguration
		want    string
	}{
		"the subdomain is the name of the job":        {want: "job-workers-0-0.job"},
		"unless the runtime names one":                {network: jobsetv1alpha2ac.Network().WithSubdomain("net"), want: "job-workers-0-0.net"},
		"an empty one is none":                        {network: jobsetv1alpha2ac.Network().WithSubdomain(""), want: "job-workers-0-0.job"},
		"other settings of the network do not matter": {network: jobsetv1alpha2ac.Network().WithEnableDNSHostnames(true), want: "job-workers-0-0.job"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			plan := &Plan{
				TrainJob: "job",
				Spec:     &jobsetv1alpha2ac.JobSetSpecApplyConfiguration{Network: tc.network},
				PodSets:  []PodSet{{Name: "workers"}},
			}
			if got := plan.FirstPodHost(&plan.PodSets[0]); got != tc.want {
				t.Errorf("FirstPodHost() = %q, want %q", got, tc.want)
			}
		})
	}
}
