// SPDX-License-Identifier: Apache-2.0

package trainjob

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/jobsetstatus"
	"github.com/milepost-dev/milepost/controller/internal/reporterwiring"
)

// ControllerName is the value of the label controller in the metrics.
const ControllerName = "trainjob_controller"

// Waits between tries that fail: doubled each time, within these bounds. The
// upper one is short enough for people who have just put the cause right.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 2 * time.Minute
)

// CacheOptions narrows the informers of a manager to what the job flow needs: one
// Secret, of all ConfigMaps those with CA certificates, of JobSets no templates.
// TrainJobs are shared with other parts of the manager; SlimTrainJob is the
// transform the job flow can do with.
func CacheOptions(certSecret types.NamespacedName) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&corev1.Secret{}: {
			Namespaces: map[string]cache.Config{
				certSecret.Namespace: {FieldSelector: fields.OneTermEqualSelector("metadata.name", certSecret.Name)},
			},
		},
		&corev1.ConfigMap{}: {
			Label: labels.SelectorFromSet(labels.Set{reporterwiring.LabelRole: reporterwiring.RoleAuthority}),
		},
		&jobsetv1alpha2.JobSet{}: {Transform: slimJobSet},
	}
}

// SetupWithManager adds the reconciler to a manager whose cache was made with
// CacheOptions. The work is done by the leader alone.
func SetupWithManager(mgr ctrl.Manager, config Config) error {
	// The new recorder would set no firstTimestamp; see events.go.
	recorder := mgr.GetEventRecorderFor(eventSource) //nolint:staticcheck // SA1019: on purpose, see above
	reconciler, err := NewReconciler(mgr.GetClient(), mgr.GetAPIReader(), recorder, config)
	if err != nil {
		return err
	}
	b := builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: config.MaxConcurrentReconciles,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minBackoff, maxBackoff),
		}).
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &trainer.TrainJob{},
			&handler.TypedEnqueueRequestForObject[*trainer.TrainJob]{}, trainJobChanged())).
		Watches(&jobsetv1alpha2.JobSet{}, ownerHandler(mgr), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{}))
	if config.ReportLink {
		b = b.
			WatchesMetadata(&corev1.ConfigMap{}, ownerHandler(mgr), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
			WatchesRawSource(source.TypedKind(mgr.GetCache(), &corev1.Secret{},
				handler.TypedEnqueueRequestsFromMapFunc(reconciler.unfinished), authorityChanged()))
	}
	if err := b.Complete(reconciler); err != nil {
		return fmt.Errorf("setting up the TrainJob controller: %w", err)
	}
	return nil
}

func ownerHandler(mgr ctrl.Manager) handler.EventHandler {
	return handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &trainer.TrainJob{}, handler.OnlyControllerOwner())
}

// unfinished lists the TrainJobs whose pods have to learn of new CA certificates.
func (r *Reconciler) unfinished(ctx context.Context, secret *corev1.Secret) []reconcile.Request {
	if client.ObjectKeyFromObject(secret) != r.config.CertSecret {
		return nil
	}
	var jobs trainer.TrainJobList
	if err := r.client.List(ctx, &jobs, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing TrainJobs after a change of the CA certificates")
		return nil
	}
	var out []reconcile.Request
	for i := range jobs.Items {
		job := &jobs.Items[i]
		if !managedElsewhere(job) && !jobsetstatus.Finished(&job.Status) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(job)})
		}
	}
	return out
}
