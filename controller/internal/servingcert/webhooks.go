// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// syncWebhooks puts the bundle into every webhook of the two configurations. A configuration that
// does not exist is passed over: the chart creates it after the Deployment, and the watch tells when.
func (k *Keeper) syncWebhooks(ctx context.Context, bundle []byte) error {
	return errors.Join(
		k.syncWebhook(ctx, k.config.ValidatingWebhook, &admissionregistrationv1.ValidatingWebhookConfiguration{}, bundle),
		k.syncWebhook(ctx, k.config.MutatingWebhook, &admissionregistrationv1.MutatingWebhookConfiguration{}, bundle),
	)
}

func (k *Keeper) syncWebhook(ctx context.Context, name string, configuration client.Object, bundle []byte) error {
	if name == "" {
		return nil
	}
	var err error
	for range maxAttempts {
		if err = k.injectOnce(ctx, name, configuration, bundle); !apierrors.IsConflict(err) {
			break
		}
	}
	if apierrors.IsNotFound(err) {
		log.FromContext(ctx).V(1).Info("webhook configuration does not exist", "webhookConfiguration", name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("writing the CA into webhook configuration %q: %w", name, err)
	}
	return nil
}

func (k *Keeper) injectOnce(ctx context.Context, name string, configuration client.Object, bundle []byte) error {
	if err := k.client.Get(ctx, client.ObjectKey{Name: name}, configuration); err != nil {
		return err
	}
	before := configuration.DeepCopyObject().(client.Object)
	changed := false
	for _, webhook := range clientConfigs(configuration) {
		if !bytes.Equal(webhook.CABundle, bundle) {
			webhook.CABundle = bundle
			changed = true
		}
	}
	if !changed {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return k.client.Patch(ctx, configuration, patch, client.FieldOwner(FieldOwner))
}

func clientConfigs(configuration client.Object) []*admissionregistrationv1.WebhookClientConfig {
	var configs []*admissionregistrationv1.WebhookClientConfig
	switch typed := configuration.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range typed.Webhooks {
			configs = append(configs, &typed.Webhooks[i].ClientConfig)
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range typed.Webhooks {
			configs = append(configs, &typed.Webhooks[i].ClientConfig)
		}
	}
	return configs
}
