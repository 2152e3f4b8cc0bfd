// SPDX-License-Identifier: Apache-2.0

// Package trainjob reconciles TrainJobs: it makes the JobSet that runs one, the
// ConfigMaps beside it, and carries back how the JobSet is doing.
//
// It owns every write of the job flow and the order of the steps. It does not own
// the decisions, which are pure functions in the packages it calls, nor
// status.trainerStatus, which belongs to the report flow: a change of that field
// does not even wake this package.
package trainjob

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/jobsetstatus"
	"github.com/milepost-dev/milepost/controller/internal/logkeys"
	"github.com/milepost-dev/milepost/controller/internal/runtimeref"
)

// fieldOwner is the server-side-apply owner of everything made here.
const fieldOwner = client.FieldOwner("trainer")

// soon is the wait before another look where nothing is wrong, but the cache is
// behind or what a deleted namesake left is not gone yet.
const soon = time.Second

// Reconciler works on one TrainJob at a time.
type Reconciler struct {
	// client reads through the cache and writes.
	client client.Client
	// live reads from the API server, where a stale answer would do harm.
	live     client.Reader
	recorder record.EventRecorder
	config   Config
	resolver runtimeref.Resolver
}

var _ reconcile.Reconciler = (*Reconciler)(nil)

// NewReconciler returns an error when the configuration is not valid.
func NewReconciler(cl client.Client, live client.Reader, recorder record.EventRecorder, config Config) (*Reconciler, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("configuring the TrainJob controller: %w", err)
	}
	return &Reconciler{
		client:   cl,
		live:     live,
		recorder: recorder,
		config:   config,
		resolver: runtimeref.Resolver{Cached: cl, Live: live},
	}, nil
}

// +kubebuilder:rbac:groups=trainer.kubeflow.org,resources=trainjobs,verbs=get;list;watch
// +kubebuilder:rbac:groups=trainer.kubeflow.org,resources=trainjobs/status,verbs=patch
// +kubebuilder:rbac:groups=trainer.kubeflow.org,resources=trainjobs/finalizers,verbs=update
// +kubebuilder:rbac:groups=trainer.kubeflow.org,resources=trainingruntimes;clustertrainingruntimes,verbs=get;list;watch
// +kubebuilder:rbac:groups=jobset.x-k8s.io,resources=jobsets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// Reconcile brings one TrainJob a step further. The steps change a copy; what
// they changed in its status is written once, and events go out only after that.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var stored trainer.TrainJob
	if err := r.client.Get(ctx, req.NamespacedName, &stored); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	log := ctrl.LoggerFrom(ctx).WithValues(logkeys.TrainJob, klog.KObj(&stored))
	ctx = ctrl.LoggerInto(ctx, log)
	if managedElsewhere(&stored) {
		log.V(2).Info("leaving the TrainJob to its manager", logkeys.ManagedBy, *stored.Spec.ManagedBy)
		return ctrl.Result{}, nil
	}
	if !stored.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil // what belongs to it goes with it
	}
	log.V(2).Info("reconciling TrainJob")

	a := &attempt{job: stored.DeepCopy()}
	result, err := r.run(ctx, a)
	if a.outdated {
		return result, err
	}
	if writeErr := r.writeStatus(ctx, &stored, a.job); apierrors.IsConflict(writeErr) {
		return ctrl.Result{RequeueAfter: minBackoff}, nil
	} else if writeErr != nil {
		return ctrl.Result{}, errors.Join(err, writeErr)
	}
	for _, w := range a.warnings {
		r.recorder.Event(&stored, corev1.EventTypeWarning, w.reason, w.message)
	}
	return result, err
}

// attempt is what one run of the steps knows and decides.
type attempt struct {
	// job is a copy of which only the status is changed.
	job *trainer.TrainJob
	// jobSet is the one that the TrainJob owns, or nil.
	jobSet *jobsetv1alpha2.JobSet
	// outdated says that the cache is behind, and what was read must not be
	// written back.
	outdated bool
	// warnings go out as events when the status is written.
	warnings []warning
}

// run takes the steps in the order in which they depend on each other: an end
// that the JobSet reports comes before the deadline, and the deadline before
// children are made, so that an overdue TrainJob gets none again.
func (r *Reconciler) run(ctx context.Context, a *attempt) (ctrl.Result, error) {
	now := metav1.NewTime(r.config.Clock.Now())
	err := r.observe(ctx, a)
	if a.jobSet != nil {
		jobsetstatus.Mirror(&a.job.Status, a.jobSet, a.job.Generation)
	}
	setSuspended(a.job, now)
	left := enforceDeadline(a, now)
	if err == nil {
		if jobsetstatus.Finished(&a.job.Status) {
			err = r.cleanUp(ctx, a)
		} else {
			err = r.makeChildren(ctx, a)
		}
	}
	return conclude(a, err, left, now)
}

// observe reads the JobSet. One of a deleted TrainJob of the same name, or of
// somebody else, says nothing about this one.
func (r *Reconciler) observe(ctx context.Context, a *attempt) error {
	var found jobsetv1alpha2.JobSet
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(a.job), &found); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("reading JobSet: %w", err)
	}
	if err := checkOwner(&found, a.job); err != nil {
		return fmt.Errorf("reading JobSet %q: %w", found.Name, err)
	}
	a.jobSet = &found
	return nil
}

// checkOwner returns ErrPredecessor when the object belongs to a deleted TrainJob
// of the same name.
func checkOwner(object metav1.Object, job *trainer.TrainJob) error {
	owner := metav1.GetControllerOf(object)
	switch {
	case owner != nil && owner.UID == job.UID:
		return nil
	case owner != nil && owner.Kind == trainer.TrainJobKind && owner.Name == job.Name:
		return runtimeref.ErrPredecessor
	}
	return errors.New("it exists and does not belong to the TrainJob")
}

// conclude turns the outcome of the steps into conditions, state and events, and
// says when to look again.
func conclude(a *attempt, err error, left time.Duration, now metav1.Time) (ctrl.Result, error) {
	switch {
	case a.outdated, errors.Is(err, runtimeref.ErrPredecessor), apierrors.IsConflict(err):
		// Nothing is wrong: the world is just not there yet.
		a.job.Status.State = jobsetstatus.State(a.job, a.jobSet, false)
		return ctrl.Result{RequeueAfter: soon}, nil
	case err != nil && a.jobSet == nil && hopeless(err) != nil:
		cause := hopeless(err)
		setFailed(a.job, trainer.TrainJobRuntimeNotSupportedReason, cause.Error(), now)
		a.warnings = append(a.warnings, runtimeNotSupported(cause))
		err = nil
	case err != nil:
		a.warnings = append(a.warnings, creationFailed(err))
	}
	a.job.Status.State = jobsetstatus.State(a.job, a.jobSet, err != nil && !started(a))
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: left}, nil
}

// hopeless is the cause of an error that no further try will end differently, or
// nil.
func hopeless(err error) error {
	if kind, ok := errors.AsType[*runtimeref.UnsupportedKindError](err); ok {
		return kind
	}
	if template, ok := errors.AsType[*runtimeref.UnusableError](err); ok {
		return template
	}
	return nil
}

// started says that the JobSet does what spec.suspend asks for, so that an error
// beside it does not hold the TrainJob up.
func started(a *attempt) bool {
	return a.jobSet != nil && (suspended(a.job.Spec.Suspend) || !suspended(a.jobSet.Spec.Suspend))
}

func managedElsewhere(job *trainer.TrainJob) bool {
	return ptr.Deref(job.Spec.ManagedBy, trainer.ManagedByTrainJobController) != trainer.ManagedByTrainJobController
}

func suspended(suspend *bool) bool {
	return ptr.Deref(suspend, false)
}
