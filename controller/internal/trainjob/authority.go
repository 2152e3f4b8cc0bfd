// SPDX-License-Identifier: Apache-2.0

package trainjob

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/jobsetbuild"
	"github.com/milepost-dev/milepost/controller/internal/reporterwiring"
)

// applyAuthority gives the TrainJob the CA certificates of today, in the ConfigMap
// that its pods mount. It writes only when they changed.
func (r *Reconciler) applyAuthority(ctx context.Context, job *trainer.TrainJob) error {
	if !r.config.ReportLink {
		return nil
	}
	bundle, err := r.authority(ctx)
	if err != nil {
		return err
	}
	upToDate, err := r.hasAuthority(ctx, job, bundle)
	if err != nil || upToDate {
		return err
	}
	wanted := reporterwiring.Authority(job.Namespace, job.Name, bundle).
		WithOwnerReferences(jobsetbuild.OwnerReference(job))
	if err := r.client.Apply(ctx, wanted, fieldOwner, client.ForceOwnership); err != nil {
		return fmt.Errorf("applying ConfigMap %q: %w", *wanted.Name, err)
	}
	return nil
}

func (r *Reconciler) hasAuthority(ctx context.Context, job *trainer.TrainJob, bundle string) (bool, error) {
	found := authorityMetadata()
	key := client.ObjectKey{Namespace: job.Namespace, Name: reporterwiring.AuthorityName(job.Name)}
	err := r.client.Get(ctx, key, found)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err == nil {
		err = checkOwner(found, job)
	}
	if err != nil {
		return false, fmt.Errorf("reading ConfigMap %q: %w", key.Name, err)
	}
	return reporterwiring.HoldsAuthority(found.Annotations, bundle), nil
}

// authority is the bundle of CA certificates from the Secret, all of them: during
// a rotation the pods have to trust the old and the new one.
func (r *Reconciler) authority(ctx context.Context) (string, error) {
	var secret corev1.Secret
	if err := r.client.Get(ctx, r.config.CertSecret, &secret); err != nil {
		return "", fmt.Errorf("looking up the CA of the status server: %w", err)
	}
	bundle := secret.Data[corev1.ServiceAccountRootCAKey]
	if len(bundle) == 0 {
		return "", fmt.Errorf("looking up the CA of the status server: Secret %q has no %s yet",
			r.config.CertSecret, corev1.ServiceAccountRootCAKey)
	}
	return string(bundle), nil
}

// authorityMetadata is a ConfigMap of which the cache keeps no content.
func authorityMetadata() *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return object
}
