// SPDX-License-Identifier: Apache-2.0

// Package xgboost is the policy of XGBoost runtimes: each training pod learns from
// DMLC_* variables who it is and where the tracker listens.
//
// It owns these variables and their protection from the user.
package xgboost

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/runtimeplan"
)

const (
	envTrackerURI  = "DMLC_TRACKER_URI"
	envTrackerPort = "DMLC_TRACKER_PORT"
	envTaskID      = "DMLC_TASK_ID"
	envNumWorker   = "DMLC_NUM_WORKER"
)

func reserved() []string {
	return []string{envTrackerURI, envTrackerPort, envTaskID, envNumWorker}
}

// Apply sets the DMLC_* variables in the container node, whether or not the
// TrainJob has a spec.trainer. There is one worker for each GPU or, without
// GPUs, for each node.
func Apply(plan *runtimeplan.Plan) {
	nodes := plan.FirstWithAncestor(trainer.AncestorTrainer)
	if nodes == nil {
		return
	}
	plan.ReservedEnv.Insert(reserved()...)
	node := nodes.Container(runtimeplan.NodeContainer)
	if node == nil {
		return
	}
	workers := int64(nodes.Count) * max(1, runtimeplan.GPUs(node))
	runtimeplan.SetEnv(node,
		runtimeplan.Env(envTrackerURI, plan.FirstPodHost(nodes)),
		runtimeplan.Env(envTrackerPort, strconv.Itoa(runtimeplan.TrainerPort)),
		runtimeplan.EnvPodIndex(envTaskID),
		runtimeplan.Env(envNumWorker, strconv.FormatInt(workers, 10)),
	)
	runtimeplan.AddPorts(node, *corev1ac.ContainerPort().WithContainerPort(runtimeplan.TrainerPort))
}

// Validate refuses a user's value for a DMLC_* variable set here.
func Validate(job *trainer.TrainJob) field.ErrorList {
	if job.Spec.Trainer == nil {
		return nil
	}
	var errs field.ErrorList
	path := field.NewPath("spec", "trainer", "env")
	for i, env := range job.Spec.Trainer.Env {
		if slices.Contains(reserved(), env.Name) {
			errs = append(errs, field.Forbidden(path.Index(i), fmt.Sprintf("%s is reserved for the XGBoost runtime", env.Name)))
		}
	}
	return errs
}
