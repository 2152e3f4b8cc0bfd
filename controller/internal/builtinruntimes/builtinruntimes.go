// SPDX-License-Identifier: Apache-2.0

// Package builtinruntimes brings the runtimes of an installation into the cluster: those in a folder that the chart mounts.
//
// Helm cannot do that by itself, since it knows no object of a CRD that the same release installs. The package owns runtimes
// that carry its label, and removes those that are in the folder no more. It never touches one that somebody else made, even
// under the same name, and it does not decide what a runtime looks like.
package builtinruntimes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/logkeys"
)

// LabelManagedBy with the value ManagedBy marks the runtimes that this package made.
const (
	LabelManagedBy = "app.kubernetes.io/managed-by"
	ManagedBy      = "kubeflow-trainer-controller-manager"
)

const (
	// labelValidation keeps runtimes from the webhook, which answers only after they are there.
	labelValidation = "trainer.kubeflow.org/webhook-validation"

	fieldOwner  = client.FieldOwner("trainer-runtimes")
	retryPeriod = 5 * time.Second
)

var (
	_ manager.Runnable               = (*Installer)(nil)
	_ manager.LeaderElectionRunnable = (*Installer)(nil)
	_ healthz.Checker                = (*Installer)(nil).Ready
)

// errPending says that no attempt has ended yet.
var errPending = errors.New("built-in runtimes are not installed yet")

// Installer installs runtimes once, when the manager starts.
type Installer struct {
	client   client.Client
	clock    clock.Clock
	runtimes []*unstructured.Unstructured

	mu    sync.Mutex
	state error // nil once all is in place
}

// New reads the runtimes of a folder, which may be empty. The client must not answer from a cache. A file that holds no valid
// ClusterTrainingRuntime is an error that names it.
func New(folder string, direct client.Client, clock clock.Clock) (*Installer, error) {
	runtimes, err := read(folder)
	if err != nil {
		return nil, fmt.Errorf("reading built-in runtimes: %w", err)
	}
	return &Installer{client: direct, clock: clock, runtimes: runtimes, state: errPending}, nil
}

// +kubebuilder:rbac:groups=trainer.kubeflow.org,resources=clustertrainingruntimes,verbs=get;list;create;patch;delete

// Start returns when the runtimes are in place, which it tries until it works.
func (i *Installer) Start(ctx context.Context) error {
	for !i.try(ctx) {
		select {
		case <-ctx.Done():
			return nil
		case <-i.clock.After(retryPeriod):
		}
	}
	return nil
}

func (i *Installer) try(ctx context.Context) bool {
	err := i.install(ctx)
	i.mu.Lock()
	i.state = err
	i.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		log.FromContext(ctx).Error(err, "installing built-in runtimes; trying again")
	}
	return err == nil
}

// NeedLeaderElection is false: a new replica brings its runtimes before it is ready, while the leader may still be an old one.
func (i *Installer) NeedLeaderElection() bool { return false }

// Ready is a health check that fails until the runtimes are in place, so that whoever waited for the manager can use them.
func (i *Installer) Ready(*http.Request) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.state
}

func (i *Installer) install(ctx context.Context) error {
	var problems []error
	wanted := map[string]bool{}
	for _, runtime := range i.runtimes {
		wanted[runtime.GetName()] = true
		problems = append(problems, i.apply(ctx, runtime))
	}
	problems = append(problems, i.removeOthers(ctx, wanted))
	return errors.Join(problems...)
}

func (i *Installer) apply(ctx context.Context, runtime *unstructured.Unstructured) error {
	name := runtime.GetName()
	stored := &trainer.ClusterTrainingRuntime{}
	err := i.client.Get(ctx, client.ObjectKey{Name: name}, stored)
	switch {
	case err == nil && stored.Labels[LabelManagedBy] != ManagedBy:
		log.FromContext(ctx).Info("leaving a runtime that somebody else made", logkeys.Runtime, klog.KObj(stored))
		return nil
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("reading runtime %q: %w", name, err)
	}
	configuration := client.ApplyConfigurationFromUnstructured(runtime.DeepCopy())
	if err := i.client.Apply(ctx, configuration, fieldOwner, client.ForceOwnership); err != nil {
		return fmt.Errorf("applying runtime %q: %w", name, err)
	}
	return nil
}

// removeOthers deletes the runtimes that an earlier start made and that are not wanted any more. TrainJobs which use them
// go on: each has a snapshot of its runtime.
func (i *Installer) removeOthers(ctx context.Context, wanted map[string]bool) error {
	var made trainer.ClusterTrainingRuntimeList
	if err := i.client.List(ctx, &made, client.MatchingLabels{LabelManagedBy: ManagedBy}); err != nil {
		return fmt.Errorf("listing built-in runtimes: %w", err)
	}
	var problems []error
	for _, runtime := range made.Items {
		if wanted[runtime.Name] {
			continue
		}
		if err := client.IgnoreNotFound(i.client.Delete(ctx, &runtime)); err != nil {
			problems = append(problems, fmt.Errorf("deleting runtime %q: %w", runtime.Name, err))
			continue
		}
		log.FromContext(ctx).Info("deleted a runtime that is built in no more", logkeys.Runtime, klog.KObj(&runtime))
	}
	return errors.Join(problems...)
}
