// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/runtimeref"
)

// initializerVolume is what an initializer hands its result over in.
const initializerVolume = "initializer"

// checkInitializers refuses an initializer that the runtime has no place for. The
// job and the container have the name of the ancestor.
func checkInitializers(runtime *runtimeref.Runtime, job *trainer.TrainJob) field.ErrorList {
	if job.Spec.Initializer == nil {
		return nil
	}
	var problems []string
	if job.Spec.Initializer.Dataset != nil {
		problems = append(problems, initializerProblem(runtime, trainer.AncestorDatasetInitializer, "datasetConfig"))
	}
	if job.Spec.Initializer.Model != nil {
		problems = append(problems, initializerProblem(runtime, trainer.AncestorModelInitializer, "modelConfig"))
	}
	var errs field.ErrorList
	for _, problem := range problems {
		if problem != "" {
			errs = append(errs, field.Invalid(runtimePath, job.Spec.RuntimeRef.Name, problem))
		}
	}
	return errs
}

func initializerProblem(runtime *runtimeref.Runtime, name, input string) string {
	jobs := runtime.Spec.Template.Spec.ReplicatedJobs
	at := slices.IndexFunc(jobs, func(r jobsetv1alpha2.ReplicatedJob) bool { return r.Name == name })
	if at < 0 {
		return fmt.Sprintf("must have %s job when trainJob is configured with input %s", name, input)
	}
	pod := &jobs[at].Template.Spec.Template.Spec
	isNamed := func(c corev1.Container) bool { return c.Name == name }
	in := slices.IndexFunc(pod.Containers, isNamed)
	if in < 0 && !slices.ContainsFunc(pod.InitContainers, isNamed) {
		return fmt.Sprintf("must have container with name - %s in the %s job", name, name)
	}
	if in < 0 || !slices.ContainsFunc(pod.Containers[in].VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == initializerVolume }) {
		return fmt.Sprintf("must have volumeMount with name - %s in container %s of the %s job", initializerVolume, name, name)
	}
	return ""
}
