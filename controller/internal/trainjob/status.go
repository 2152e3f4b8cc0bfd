// SPDX-License-Identifier: Apache-2.0

package trainjob

import (
	"context"
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainerv1alpha1 "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// writeStatus patches the fields that differ, if any.
func (r *Reconciler) writeStatus(ctx context.Context, stored, wanted *trainerv1alpha1.TrainJob) error {
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
// between stays. It names the UID, so that it is refused by a TrainJob that was
// deleted and made anew under the same name.
func statusPatch(stored, wanted *trainerv1alpha1.TrainJob) ([]byte, error) {
	before, after := withoutReport(&stored.Status), withoutReport(&wanted.Status)
	if equality.Semantic.DeepEqual(before, after) {
		return nil, nil
	}
	beforeJSON, err := json.Marshal(before)
	if err != nil {
		return nil, fmt.Errorf("encoding the stored status: %w", err)
	}
	afterJSON, err := json.Marshal(after)
	if err != nil {
		return nil, fmt.Errorf("encoding the wanted status: %w", err)
	}
	difference, err := jsonpatch.CreateMergePatch(beforeJSON, afterJSON)
	if err != nil {
		return nil, fmt.Errorf("comparing the stored and the wanted status: %w", err)
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": stored.UID},
		"status":   json.RawMessage(difference),
	})
}

// withoutReport is the part of the status that this package owns.
func withoutReport(status *trainerv1alpha1.TrainJobStatus) *trainerv1alpha1.TrainJobStatus {
	own := *status
	own.TrainerStatus = nil
	return &own
}
