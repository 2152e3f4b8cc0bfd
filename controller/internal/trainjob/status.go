// SPDX-License-Identifier: Apache-2.0

package trainjob

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/jobsetstatus"
)

// writeStatus patches the fields that differ, if any.
func (r *Reconciler) writeStatus(ctx context.Context, stored, wanted *trainer.TrainJob) error {
	patch, err := statusPatch(stored, wanted)
	if err != nil || patch == nil {
		return err
	}
	target := stored.DeepCopy()
	err = r.client.Status().Patch(ctx, target, client.RawPatch(types.MergePatchType, patch), fieldOwner)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	return nil
}

// statusPatch is the JSON merge patch from one status to the other, or nil when
// they are equal. It never names trainerStatus, so a report that arrives in
// between stays.
//
// An end is for good, so it must not hit a TrainJob that was deleted and made
// anew under the same name meanwhile: it goes to the version that was read, and a
// report in between makes it a conflict that is tried again. Everything else is
// put right by the next reconcile, and must not wait for a gap between reports.
func statusPatch(stored, wanted *trainer.TrainJob) ([]byte, error) {
	before := &trainer.TrainJob{Status: *withoutReport(&stored.Status)}
	after := &trainer.TrainJob{Status: *withoutReport(&wanted.Status)}
	if equality.Semantic.DeepEqual(before, after) {
		return nil, nil
	}
	difference, err := client.MergeFrom(before).Data(after)
	if err != nil {
		return nil, fmt.Errorf("comparing the stored and the wanted status: %w", err)
	}
	if jobsetstatus.Finished(&stored.Status) || !jobsetstatus.Finished(&wanted.Status) {
		return difference, nil
	}
	var patch struct {
		Metadata map[string]string `json:"metadata"`
		Status   json.RawMessage   `json:"status"`
	}
	if err := json.Unmarshal(difference, &patch); err != nil {
		return nil, fmt.Errorf("reading the difference in status: %w", err)
	}
	patch.Metadata = map[string]string{"resourceVersion": stored.ResourceVersion}
	return json.Marshal(patch)
}

// withoutReport is the part of the status that this package owns.
func withoutReport(status *trainer.TrainJobStatus) *trainer.TrainJobStatus {
	own := *status
	own.TrainerStatus, own.LastUpdatedNanos = nil, nil
	return &own
}
