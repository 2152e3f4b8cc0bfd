// SPDX-License-Identifier: Apache-2.0

// Package torch is the policy of PyTorch runtimes: torchrun in each training pod
// learns from PET_* variables who it is and where the first node listens.
//
// It owns these variables and their protection from the user. It does not own
// torchtune, which takes the meeting point as an argument.
package torch

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/runtimeplan"
)

const (
	envNumNodes       = "PET_NNODES"
	envNumProcPerNode = "PET_NPROC_PER_NODE"
	envNodeRank       = "PET_NODE_RANK"
	envMasterAddr     = "PET_MASTER_ADDR"
	envMasterPort     = "PET_MASTER_PORT"

	// auto lets torchrun count the GPUs it sees.
	auto = "auto"
)

func reserved() []string {
	return []string{envNumNodes, envNumProcPerNode, envNodeRank, envMasterAddr, envMasterPort}
}

// Apply sets the PET_* variables in the container node and in the containers
// that envInjection names, whether or not the TrainJob has a spec.trainer. It
// returns an error when envInjection names a container that is not there.
func Apply(plan *runtimeplan.Plan, policy *trainer.TorchMLPolicySource, job *trainer.TrainJob) error {
	nodes := plan.FirstWithAncestor(trainer.AncestorTrainer)
	if nodes == nil {
		return nil
	}
	plan.ReservedEnv.Insert(reserved()...)
	node := nodes.Container(runtimeplan.NodeContainer)
	env := []corev1ac.EnvVarApplyConfiguration{
		runtimeplan.Env(envNumNodes, strconv.Itoa(int(nodes.Count))),
		runtimeplan.Env(envNumProcPerNode, numProcPerNode(job.Spec.Trainer, node)),
		runtimeplan.EnvPodIndex(envNodeRank),
		runtimeplan.Env(envMasterAddr, plan.FirstPodHost(nodes)),
		runtimeplan.Env(envMasterPort, strconv.Itoa(runtimeplan.TrainerPort)),
	}
	if node != nil {
		runtimeplan.SetEnv(node, env...)
		runtimeplan.AddPorts(node, *corev1ac.ContainerPort().WithContainerPort(runtimeplan.TrainerPort))
	}
	for _, target := range targets(policy) {
		container := find(plan, target)
		if container == nil {
			return fmt.Errorf("%s", target.notFound())
		}
		runtimeplan.SetEnv(container, env...)
	}
	return nil
}

// numProcPerNode is what the TrainJob says, or else one process for each GPU,
// which torchrun counts itself, or else one for each CPU.
func numProcPerNode(spec *trainer.Trainer, node *corev1ac.ContainerApplyConfiguration) string {
	if spec != nil && spec.NumProcPerNode != nil {
		return strconv.Itoa(int(*spec.NumProcPerNode))
	}
	if runtimeplan.GPUs(node) > 0 {
		return auto
	}
	return strconv.FormatInt(max(1, runtimeplan.CPUs(node)), 10)
}

// Validate refuses a user's value for a PET_* variable and envInjection of
// containers that are not there.
func Validate(plan *runtimeplan.Plan, policy *trainer.TorchMLPolicySource, job *trainer.TrainJob) field.ErrorList {
	var errs field.ErrorList
	for _, target := range targets(policy) {
		if find(plan, target) == nil {
			errs = append(errs, field.Invalid(field.NewPath("spec", "runtimeRef"), target.container, target.notFound()))
		}
	}
	if job.Spec.Trainer == nil {
		return errs
	}
	taken := sets.New(reserved()...)
	used := sets.New[string]()
	for _, env := range job.Spec.Trainer.Env {
		if taken.Has(env.Name) {
			used.Insert(env.Name)
		}
	}
	if used.Len() > 0 {
		errs = append(errs, field.Invalid(field.NewPath("spec", "trainer", "env"), sets.List(used),
			fmt.Sprintf("must not have reserved envs, invalid envs configured: %v", sets.List(used))))
	}
	return errs
}

type target struct {
	job, container string
}

func (t target) notFound() string {
	return fmt.Sprintf("envInjection target podSet %q container %q not found in runtime template", t.job, t.container)
}

func targets(policy *trainer.TorchMLPolicySource) []target {
	if policy.EnvInjection == nil {
		return nil
	}
	var out []target
	for _, t := range policy.EnvInjection.Targets {
		for _, name := range t.ContainerNames {
			out = append(out, target{job: t.JobName, container: name})
		}
	}
	return out
}

func find(plan *runtimeplan.Plan, t target) *corev1ac.ContainerApplyConfiguration {
	podSet := plan.PodSet(t.job)
	if podSet == nil {
		return nil
	}
	return podSet.AnyContainer(t.container)
}
