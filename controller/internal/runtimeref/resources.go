// SPDX-License-Identifier: Apache-2.0

package runtimeref

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/runtimeplan"
)

// mergeTrainerResources puts spec.trainer.resourcesPerNode over the resources of
// the training containers, resource by resource: what the TrainJob does not name
// stays as the runtime has it.
func mergeTrainerResources(plan *runtimeplan.Plan, spec *trainer.Trainer) {
	if spec == nil || spec.ResourcesPerNode == nil {
		return
	}
	for i := range plan.PodSets {
		if plan.PodSets[i].Ancestor != trainer.AncestorTrainer {
			continue
		}
		if node := plan.PodSets[i].Container(runtimeplan.NodeContainer); node != nil {
			node.Resources = mergeResources(node.Resources, spec.ResourcesPerNode)
		}
	}
}

func mergeResources(
	base *corev1ac.ResourceRequirementsApplyConfiguration, over *corev1.ResourceRequirements,
) *corev1ac.ResourceRequirementsApplyConfiguration {
	out := &corev1ac.ResourceRequirementsApplyConfiguration{}
	if base != nil {
		out.Claims = slices.Clone(base.Claims)
		out.Limits, out.Requests = base.Limits, base.Requests
	}
	limits := mergeList(ptr.Deref(out.Limits, nil), over.Limits)
	requests := mergeList(ptr.Deref(out.Requests, nil), over.Requests)
	settle(limits, requests, over)
	out.Limits, out.Requests = orNil(limits), orNil(requests)
	out.Claims = mergeClaims(out.Claims, over.Claims)
	return out
}

func mergeList(base, over corev1.ResourceList) corev1.ResourceList {
	merged := make(corev1.ResourceList, len(base)+len(over))
	maps.Copy(merged, base)
	maps.Copy(merged, over)
	return merged
}

// settle moves the inherited half of a pair that the TrainJob changed on one side
// only, where the pair would otherwise ask for more than it allows and no pod
// could ever be created.
func settle(limits, requests corev1.ResourceList, over *corev1.ResourceRequirements) {
	for name, request := range requests {
		limit, ok := limits[name]
		if !ok || request.Cmp(limit) <= 0 {
			continue
		}
		_, limitGiven := over.Limits[name]
		_, requestGiven := over.Requests[name]
		switch {
		case limitGiven && !requestGiven:
			requests[name] = limit
		case requestGiven && !limitGiven:
			limits[name] = request
		}
	}
}

func mergeClaims(
	base []corev1ac.ResourceClaimApplyConfiguration, over []corev1.ResourceClaim,
) []corev1ac.ResourceClaimApplyConfiguration {
	for _, claim := range over {
		applied := corev1ac.ResourceClaim().WithName(claim.Name)
		if claim.Request != "" {
			applied.WithRequest(claim.Request)
		}
		i := slices.IndexFunc(base, func(c corev1ac.ResourceClaimApplyConfiguration) bool {
			return ptr.Deref(c.Name, "") == claim.Name
		})
		if i < 0 {
			base = append(base, *applied)
			continue
		}
		base[i] = *applied
	}
	return base
}

func orNil(list corev1.ResourceList) *corev1.ResourceList {
	if len(list) == 0 {
		return nil
	}
	return &list
}
