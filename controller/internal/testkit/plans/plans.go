// SPDX-License-Identifier: Apache-2.0

// Package plans makes Plans for tests, from builders, as the job flow does.
package plans

import (
	"strings"
	"testing"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/runtimeplan"
	"github.com/milepost-dev/milepost/controller/internal/runtimeref"
	"github.com/milepost-dev/milepost/controller/internal/testkit/builders"
)

// Make plans a TrainJob on a ClusterTrainingRuntime.
func Make(t testing.TB, runtime *builders.Runtime, job *trainer.TrainJob) *runtimeplan.Plan {
	t.Helper()
	object := runtime.Cluster()
	plan, err := runtimeref.NewPlan(&runtimeref.Runtime{
		Kind: trainer.ClusterTrainingRuntimeKind, Meta: object.ObjectMeta, Spec: object.Spec,
	}, job)
	if err != nil {
		t.Fatalf("planning: %v", err)
	}
	return plan
}

// Env lists variables as NAME=value, or NAME<-path for one that names a field.
func Env(env []corev1ac.EnvVarApplyConfiguration) []string {
	var out []string
	for _, e := range env {
		switch {
		case e.ValueFrom != nil && e.ValueFrom.FieldRef != nil:
			out = append(out, *e.Name+"<-"+*e.ValueFrom.FieldRef.FieldPath)
		case e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil:
			out = append(out, *e.Name+"<-secret "+*e.ValueFrom.SecretKeyRef.Name+"/"+*e.ValueFrom.SecretKeyRef.Key)
		case e.Value != nil:
			out = append(out, *e.Name+"="+*e.Value)
		default:
			out = append(out, *e.Name+"=")
		}
	}
	return out
}

// EnvOf lists the variables of a container, given as "job/container".
func EnvOf(t testing.TB, plan *runtimeplan.Plan, path string) []string {
	t.Helper()
	job, name, _ := strings.Cut(path, "/")
	podSet := plan.PodSet(job)
	if podSet == nil {
		t.Fatalf("no replicated job %q", job)
	}
	container := podSet.AnyContainer(name)
	if container == nil {
		t.Fatalf("no container %q", path)
	}
	return Env(container.Env)
}
