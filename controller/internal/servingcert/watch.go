// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// watchTarget is one object, named, so that a role restricted to that name is enough.
type watchTarget struct {
	list      client.ObjectList
	namespace string
	name      string
}

func (k *Keeper) watchTargets() []watchTarget {
	targets := []watchTarget{{list: &corev1.SecretList{}, namespace: k.config.Secret.Namespace, name: k.config.Secret.Name}}
	if !k.config.Manage {
		return targets
	}
	if name := k.config.ValidatingWebhook; name != "" {
		targets = append(targets, watchTarget{list: &admissionregistrationv1.ValidatingWebhookConfigurationList{}, name: name})
	}
	if name := k.config.MutatingWebhook; name != "" {
		targets = append(targets, watchTarget{list: &admissionregistrationv1.MutatingWebhookConfigurationList{}, name: name})
	}
	return targets
}

// watch wakes the main loop on every event of the object until the context ends. Events are hints:
// the loop reads the object itself, and looks at times without one, so a lost event costs only time.
func (k *Keeper) watch(ctx context.Context, target watchTarget, wake chan<- struct{}) {
	for {
		if err := k.watchOnce(ctx, target, wake); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).V(1).Info("watching ended; trying again", "object", target.name, "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-k.config.Clock.After(watchPause):
		}
	}
}

func (k *Keeper) watchOnce(ctx context.Context, target watchTarget, wake chan<- struct{}) error {
	events, err := k.client.Watch(ctx, target.list,
		client.InNamespace(target.namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", target.name)},
	)
	if err != nil {
		return err
	}
	defer events.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, open := <-events.ResultChan():
			if !open {
				return nil
			}
			select {
			case wake <- struct{}{}:
			default:
			}
		}
	}
}
