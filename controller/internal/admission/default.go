// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// trainJobDefaulter stamps the time on patches of a runtime.
type trainJobDefaulter struct {
	clock clock.PassiveClock
}

var _ admission.Defaulter[*trainer.TrainJob] = (*trainJobDefaulter)(nil)

// Default implements admission.Defaulter.
func (d *trainJobDefaulter) Default(ctx context.Context, job *trainer.TrainJob) error {
	if len(job.Spec.RuntimePatches) == 0 {
		return nil
	}
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return fmt.Errorf("reading the admission request: %w", err)
	}
	var old trainer.TrainJob
	if request.Operation == admissionv1.Update {
		if err := json.Unmarshal(request.OldObject.Raw, &old); err != nil {
			return fmt.Errorf("reading the TrainJob before the update: %w", err)
		}
	}
	stamp(job.Spec.RuntimePatches, old.Spec.RuntimePatches, metav1.NewTime(d.clock.Now()))
	return nil
}

// stamp gives new patches the time unless they bring one, changed ones the time,
// and the others the time they had: who re-applies a patch does not change it.
func stamp(patches, before []trainer.RuntimePatch, now metav1.Time) {
	known := make(map[string]*trainer.RuntimePatch, len(before))
	for i := range before {
		known[before[i].Manager] = &before[i]
	}
	for i := range patches {
		patch := &patches[i]
		old, ok := known[patch.Manager]
		switch {
		case !ok && patch.Time == nil:
			patch.Time = &now
		case ok && samePatch(old, patch):
			patch.Time = old.Time
		case ok:
			patch.Time = &now
		}
	}
}

func samePatch(a, b *trainer.RuntimePatch) bool {
	return equality.Semantic.DeepEqual(a.TrainingRuntimeSpec, b.TrainingRuntimeSpec)
}
