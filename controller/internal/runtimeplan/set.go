// SPDX-License-Identifier: Apache-2.0

package runtimeplan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
)

// SetEnv adds variables to a container. One that is already there is replaced in
// its place, so that a name never stands twice and $(NAME) references to it keep
// resolving.
func SetEnv(c *corev1ac.ContainerApplyConfiguration, vars ...corev1ac.EnvVarApplyConfiguration) {
	c.Env = set(c.Env, vars, func(a, b corev1ac.EnvVarApplyConfiguration) bool {
		return ptr.Equal(a.Name, b.Name)
	})
}

// AddPorts declares ports of a container. One that is declared already, with the
// same number and protocol, is kept as it is, with its name.
func AddPorts(c *corev1ac.ContainerApplyConfiguration, ports ...corev1ac.ContainerPortApplyConfiguration) {
	for _, port := range ports {
		declared := slices.ContainsFunc(c.Ports, func(p corev1ac.ContainerPortApplyConfiguration) bool {
			return ptr.Equal(p.ContainerPort, port.ContainerPort) &&
				ptr.Deref(p.Protocol, corev1.ProtocolTCP) == ptr.Deref(port.Protocol, corev1.ProtocolTCP)
		})
		if !declared {
			c.Ports = append(c.Ports, port)
		}
	}
}

// SetVolumeMounts adds mounts to a container and replaces those at the same path.
func SetVolumeMounts(c *corev1ac.ContainerApplyConfiguration, mounts ...corev1ac.VolumeMountApplyConfiguration) {
	c.VolumeMounts = set(c.VolumeMounts, mounts, func(a, b corev1ac.VolumeMountApplyConfiguration) bool {
		return ptr.Equal(a.MountPath, b.MountPath)
	})
}

// SetVolumes adds volumes to the pods and replaces those of the same name.
func (ps *PodSet) SetVolumes(volumes ...corev1ac.VolumeApplyConfiguration) {
	ps.Pod.Volumes = set(ps.Pod.Volumes, volumes, func(a, b corev1ac.VolumeApplyConfiguration) bool {
		return ptr.Equal(a.Name, b.Name)
	})
}

func set[T any](into, items []T, same func(a, b T) bool) []T {
next:
	for _, item := range items {
		for i := range into {
			if same(into[i], item) {
				into[i] = item
				continue next
			}
		}
		into = append(into, item)
	}
	return into
}
