// SPDX-License-Identifier: Apache-2.0

package trainjob

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// Discovery tells which resources an API server has.
type Discovery interface {
	ServerResourcesForGroupVersionWithContext(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error)
}

// CheckAPIs returns an error of one line when the API server lacks the CRDs that
// the controller works on. Without this check it would wait for them in silence.
func CheckAPIs(ctx context.Context, discovery Discovery) error {
	required := []struct{ groupVersion, resource, remedy string }{
		{
			trainer.GroupVersion.String(), "trainjobs",
			"the CRDs of trainer.kubeflow.org are not installed; install the chart with crds.enabled=true",
		},
		{
			jobsetv1alpha2.SchemeGroupVersion.String(), "jobsets",
			"JobSet is not installed; install the chart with jobset.install=true, or JobSet v0.12 or later by itself (https://jobset.sigs.k8s.io/docs/installation/)",
		},
	}
	for _, api := range required {
		list, err := discovery.ServerResourcesForGroupVersionWithContext(ctx, api.groupVersion)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("asking the API server for %s: %w", api.groupVersion, err)
		}
		served := err == nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == api.resource })
		if !served {
			return fmt.Errorf("the API server has no %s in %s: %s", api.resource, api.groupVersion, api.remedy)
		}
	}
	return nil
}
