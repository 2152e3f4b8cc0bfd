// SPDX-License-Identifier: Apache-2.0

package runtimeplan

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

// TrainerPort is the port on which the first training pod listens for the others.
const TrainerPort = 29500

// Env is a variable with a fixed value.
func Env(name, value string) corev1ac.EnvVarApplyConfiguration {
	return *corev1ac.EnvVar().WithName(name).WithValue(value)
}

// EnvPodIndex is a variable with the index of the pod within its Job, from 0.
func EnvPodIndex(name string) corev1ac.EnvVarApplyConfiguration {
	path := fmt.Sprintf("metadata.annotations['%s']", batchv1.JobCompletionIndexAnnotation)
	return *corev1ac.EnvVar().WithName(name).WithValueFrom(
		corev1ac.EnvVarSource().WithFieldRef(corev1ac.ObjectFieldSelector().WithFieldPath(path)))
}

// GPUs is how many GPUs the container asks for, whoever makes them. A request
// counts before a limit. c may be nil.
func GPUs(c *corev1ac.ContainerApplyConfiguration) int64 {
	requests, limits := resources(c)
	if n := countGPUs(requests); n > 0 {
		return n
	}
	return countGPUs(limits)
}

// countGPUs takes resources named exactly "gpu" behind the vendor's domain for
// whole devices. Others that mention the word count only when there is none of
// these: beside nvidia.com/gpu, nvidia.com/gpumem is an amount of memory.
func countGPUs(list corev1.ResourceList) int64 {
	var devices, mentions int64
	for name, quantity := range list {
		lower := strings.ToLower(string(name))
		switch {
		case lower == "gpu" || strings.HasSuffix(lower, "/gpu"):
			devices += quantity.Value()
		case strings.Contains(lower, "gpu"):
			mentions += quantity.Value()
		}
	}
	if devices > 0 {
		return devices
	}
	return mentions
}

// CPUs is how many CPUs the container asks for, rounded up, or 0. A request
// counts before a limit. c may be nil.
func CPUs(c *corev1ac.ContainerApplyConfiguration) int64 {
	requests, limits := resources(c)
	if cpu := requests.Cpu(); !cpu.IsZero() {
		return cpu.Value()
	}
	return limits.Cpu().Value()
}

func resources(c *corev1ac.ContainerApplyConfiguration) (requests, limits corev1.ResourceList) {
	if c == nil || c.Resources == nil {
		return nil, nil
	}
	if c.Resources.Requests != nil {
		requests = *c.Resources.Requests
	}
	if c.Resources.Limits != nil {
		limits = *c.Resources.Limits
	}
	return requests, limits
}
