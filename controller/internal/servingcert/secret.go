// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/milepost-dev/milepost/controller/internal/logkeys"
)

// maxAttempts bounds the tries of one write. Each conflict means that another replica has written,
// after which there is most likely nothing left to do.
const maxAttempts = 5

// storedSecret returns the Secret as it is stored, renewed first where that is due and ours to do.
// What another replica wrote in the meantime wins over what this one made.
func (k *Keeper) storedSecret(ctx context.Context) (*corev1.Secret, error) {
	var err error
	for range maxAttempts {
		var secret *corev1.Secret
		secret, err = k.readAndRenew(ctx)
		if err == nil {
			return secret, nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			return nil, err
		}
	}
	return nil, err
}

func (k *Keeper) readAndRenew(ctx context.Context) (*corev1.Secret, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: k.config.Secret.Name, Namespace: k.config.Secret.Namespace}}
	err := k.client.Get(ctx, k.config.Secret, secret)
	absent := apierrors.IsNotFound(err)
	switch {
	case absent && !k.config.Manage:
		return nil, fmt.Errorf("certificate management is off, so somebody else has to create the Secret: %w", err)
	case err != nil && !absent:
		return nil, fmt.Errorf("reading Secret %q: %w", k.config.Secret, err)
	case !k.config.Manage:
		return secret, nil
	}
	due, err := k.planner.renew(secret.Data, k.config.Clock.Now())
	if err != nil {
		return nil, fmt.Errorf("renewing the certificates of Secret %q: %w", k.config.Secret, err)
	}
	if len(due.keys) == 0 {
		return secret, nil
	}
	if err := k.write(ctx, secret, due, absent); err != nil {
		return nil, fmt.Errorf("storing renewed certificates in Secret %q: %w", k.config.Secret, err)
	}
	log.FromContext(ctx).Info("renewed certificates", logkeys.Secret, k.secretRef(), "reasons", due.reasons)
	return secret, nil
}

// write stores the keys of the plan and leaves all others, and every label, alone. The resource
// version in the patch makes it fail with a conflict when another replica was faster.
func (k *Keeper) write(ctx context.Context, secret *corev1.Secret, due plan, absent bool) error {
	before := secret.DeepCopy()
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	maps.Copy(secret.Data, due.keys)
	if absent {
		return k.client.Create(ctx, secret, client.FieldOwner(FieldOwner))
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return k.client.Patch(ctx, secret, patch, client.FieldOwner(FieldOwner))
}
