// SPDX-License-Identifier: Apache-2.0

package trainjob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	jobsetv1alpha2ac "sigs.k8s.io/jobset/client-go/applyconfiguration/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// annotationGeneration is the generation of the TrainJob that a JobSet was last
// brought in line with.
const annotationGeneration = "milepost.dev/trainjob-generation"

func generation(job *trainer.TrainJob) string {
	return strconv.FormatInt(job.Generation, 10)
}

// update carries spec.suspend and the runtimePatches into a JobSet that exists.
// While neither it nor the TrainJob is suspended there is nothing JobSet would
// let us change.
func (r *Reconciler) update(ctx context.Context, a *attempt) error {
	stop, stopped := suspended(a.job.Spec.Suspend), suspended(a.jobSet.Spec.Suspend)
	if !stop && !stopped {
		return nil
	}
	if stop && stopped && a.jobSet.Annotations[annotationGeneration] == generation(a.job) {
		return nil // a queue of suspended jobs costs nothing at a restart
	}
	job, err := r.current(ctx, a)
	if err != nil || a.outdated {
		return err
	}
	built, err := r.build(ctx, job)
	if err != nil {
		if stop {
			return errors.Join(err, r.suspendOnly(ctx, a))
		}
		return err
	}
	err = r.apply(ctx, built)
	if apierrors.IsInvalid(err) {
		return r.keepTemplate(ctx, a, built.jobSet, err)
	}
	return err
}

// suspendOnly stops the pods of a job that cannot be built any more.
func (r *Reconciler) suspendOnly(ctx context.Context, a *attempt) error {
	if suspended(a.jobSet.Spec.Suspend) {
		return nil
	}
	stopped := a.jobSet.DeepCopy()
	stopped.Spec.Suspend = a.job.Spec.Suspend
	if err := r.client.Patch(ctx, stopped, client.MergeFrom(a.jobSet), fieldOwner); err != nil {
		return fmt.Errorf("suspending the JobSet: %w", err)
	}
	return nil
}

// keepTemplate changes of a JobSet only what JobSet lets us change. The rest may
// differ from what we would build today because this controller, its gates or
// its address did since; without this the job could never be suspended or
// resumed again.
func (r *Reconciler) keepTemplate(
	ctx context.Context, a *attempt, wanted *jobsetv1alpha2ac.JobSetApplyConfiguration, refusal error,
) error {
	var stored jobsetv1alpha2.JobSet
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(a.jobSet), &stored); err != nil {
		return fmt.Errorf("reading the JobSet again: %w", err)
	}
	changed := stored.DeepCopy()
	if err := carryOver(changed, wanted); err != nil {
		return err
	}
	patch := client.MergeFromWithOptions(&stored, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, changed, patch, fieldOwner); err != nil {
		return fmt.Errorf("changing the JobSet: %w", errors.Join(err, refusal))
	}
	a.warnings = append(a.warnings, templateKept(refusal))
	return nil
}

// carryOver sets the fields that JobSet lets a suspended JobSet change.
func carryOver(into *jobsetv1alpha2.JobSet, wanted *jobsetv1alpha2ac.JobSetApplyConfiguration) error {
	text, err := json.Marshal(wanted.Spec)
	if err != nil {
		return fmt.Errorf("converting the JobSet: %w", err)
	}
	var spec jobsetv1alpha2.JobSetSpec
	if err := json.Unmarshal(text, &spec); err != nil {
		return fmt.Errorf("converting the JobSet: %w", err)
	}
	into.Spec.Suspend = spec.Suspend
	metav1.SetMetaDataAnnotation(&into.ObjectMeta, annotationGeneration, wanted.Annotations[annotationGeneration])
	for i := range into.Spec.ReplicatedJobs {
		for j := range spec.ReplicatedJobs {
			if into.Spec.ReplicatedJobs[i].Name != spec.ReplicatedJobs[j].Name {
				continue
			}
			to := &into.Spec.ReplicatedJobs[i].Template.Spec.Template
			from := &spec.ReplicatedJobs[j].Template.Spec.Template
			to.Labels, to.Annotations = from.Labels, from.Annotations
			to.Spec.NodeSelector = from.Spec.NodeSelector
			to.Spec.Tolerations = from.Spec.Tolerations
			to.Spec.SchedulingGates = from.Spec.SchedulingGates
		}
	}
	return nil
}
