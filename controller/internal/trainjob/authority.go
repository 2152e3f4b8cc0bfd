// SPDX-License-Identifier: Apache-2.0

package trainjob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainerv1alpha1 "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/jobsetbuild"
	"github.com/milepost-dev/milepost/controller/internal/reportlink"
)

const (
	// labelRole marks the ConfigMaps that the cache has to know.
	labelRole = "milepost.dev/role"
	// roleAuthority is its value on the ConfigMap with the CA certificates.
	roleAuthority = "report-ca"
	// annotationDigest is the SHA-256 of what the ConfigMap holds, so that the
	// cache can do without the content.
	annotationDigest = "milepost.dev/digest"
)

// applyAuthority gives the TrainJob the CA certificates of today, in the ConfigMap
// that its pods mount. It writes only when they changed.
func (r *Reconciler) applyAuthority(ctx context.Context, job *trainerv1alpha1.TrainJob) error {
	if !r.config.ReportLink {
		return nil
	}
	bundle, err := r.authority(ctx)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(bundle))
	digest := hex.EncodeToString(sum[:])
	name := reportlink.CAConfigMapName(job.Name)
	upToDate, err := r.hasAuthority(ctx, job, name, digest)
	if err != nil || upToDate {
		return err
	}
	wanted := corev1ac.ConfigMap(name, job.Namespace).
		WithLabels(map[string]string{labelRole: roleAuthority}).
		WithAnnotations(map[string]string{annotationDigest: digest}).
		WithOwnerReferences(jobsetbuild.OwnerReference(job)).
		WithData(map[string]string{reportlink.CAConfigMapKey: bundle})
	if err := r.client.Apply(ctx, wanted, fieldOwner, client.ForceOwnership); err != nil {
		return fmt.Errorf("applying ConfigMap %q: %w", name, err)
	}
	return nil
}

func (r *Reconciler) hasAuthority(ctx context.Context, job *trainerv1alpha1.TrainJob, name, digest string) (bool, error) {
	found := authorityMetadata()
	err := r.client.Get(ctx, client.ObjectKey{Namespace: job.Namespace, Name: name}, found)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading ConfigMap %q: %w", name, err)
	}
	if err := checkOwner(found, job); err != nil {
		return false, fmt.Errorf("reading ConfigMap %q: %w", name, err)
	}
	return found.Annotations[annotationDigest] == digest, nil
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
