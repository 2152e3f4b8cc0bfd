// SPDX-License-Identifier: Apache-2.0

// Package jax is the policy of JAX runtimes: each training pod learns from JAX_*
// variables who it is and where the coordinator listens.
package jax

import (
	"net"
	"strconv"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/runtimeplan"
)

const (
	envNumProcesses       = "JAX_NUM_PROCESSES"
	envProcessID          = "JAX_PROCESS_ID"
	envCoordinatorAddress = "JAX_COORDINATOR_ADDRESS"
)

// Apply sets the JAX_* variables in the container node, whether or not the
// TrainJob has a spec.trainer. A user may override them.
func Apply(plan *runtimeplan.Plan) {
	nodes := plan.FirstWithAncestor(trainer.AncestorTrainer)
	if nodes == nil {
		return
	}
	node := nodes.Container(runtimeplan.NodeContainer)
	if node == nil {
		return
	}
	port := strconv.Itoa(runtimeplan.TrainerPort)
	runtimeplan.SetEnv(node,
		runtimeplan.Env(envNumProcesses, strconv.Itoa(int(nodes.Count))),
		runtimeplan.EnvPodIndex(envProcessID),
		runtimeplan.Env(envCoordinatorAddress, net.JoinHostPort(plan.FirstPodHost(nodes), port)),
	)
	runtimeplan.AddPorts(node, *corev1ac.ContainerPort().WithContainerPort(runtimeplan.TrainerPort))
}
