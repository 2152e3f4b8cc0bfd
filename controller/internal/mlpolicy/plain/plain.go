// SPDX-License-Identifier: Apache-2.0

// Package plain is the policy of a runtime that names no framework, and the first
// step of every other policy: it carries the number of nodes into the plan.
//
// It does not own environment variables of the user; jobsetbuild sets those last.
package plain

import (
	"fmt"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/runtimeplan"
)

// Apply replaces the number of nodes of the runtime by spec.trainer.numNodes. It
// returns an error when that is below 1.
func Apply(plan *runtimeplan.Plan, job *trainer.TrainJob) error {
	if job.Spec.Trainer == nil || job.Spec.Trainer.NumNodes == nil {
		return nil
	}
	nodes := *job.Spec.Trainer.NumNodes
	if nodes < 1 {
		return fmt.Errorf("spec.trainer.numNodes is %d, it must be at least 1", nodes)
	}
	plan.SetCount(trainer.AncestorTrainer, nodes)
	return nil
}
