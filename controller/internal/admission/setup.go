// SPDX-License-Identifier: Apache-2.0

// Package admission answers the API server's questions about TrainJobs and
// runtimes: what to fill in, and whether to take them.
//
// It owns the messages a user reads on refusal. It refuses what could only fail
// later, when nobody looks, and builds each TrainJob once on paper to find out.
// It does not own the rules that stand in the CRDs, nor any write, and it never
// looks at status.
package admission

import (
	"fmt"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/runtimeref"
)

// +kubebuilder:rbac:groups=trainer.kubeflow.org,resources=trainingruntimes;clustertrainingruntimes,verbs=get;list;watch
// +kubebuilder:rbac:groups=jobset.x-k8s.io,resources=jobsets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get

// Paths under which the webhooks are served, for the webhook configurations.
const (
	PathMutateTrainJob                 = "/mutate-trainer-kubeflow-org-v1alpha1-trainjob"
	PathValidateTrainJob               = "/validate-trainer-kubeflow-org-v1alpha1-trainjob"
	PathValidateTrainingRuntime        = "/validate-trainer-kubeflow-org-v1alpha1-trainingruntime"
	PathValidateClusterTrainingRuntime = "/validate-trainer-kubeflow-org-v1alpha1-clustertrainingruntime"
)

// SetupWithManager serves the webhooks from the webhook server of the manager.
// Every replica answers.
func SetupWithManager(mgr ctrl.Manager) error {
	jobs := &trainJobValidator{
		cached:   mgr.GetClient(),
		resolver: runtimeref.Resolver{Cached: mgr.GetClient(), Live: mgr.GetAPIReader()},
	}
	err := ctrl.NewWebhookManagedBy(mgr, &trainer.TrainJob{}).
		WithDefaulter(&trainJobDefaulter{clock: clock.RealClock{}}).WithDefaulterCustomPath(PathMutateTrainJob).
		WithValidator(jobs).WithValidatorCustomPath(PathValidateTrainJob).
		Complete()
	if err != nil {
		return fmt.Errorf("setting up the webhooks of TrainJob: %w", err)
	}
	err = ctrl.NewWebhookManagedBy(mgr, &trainer.TrainingRuntime{}).
		WithValidator(&trainingRuntimeValidator{}).WithValidatorCustomPath(PathValidateTrainingRuntime).
		Complete()
	if err != nil {
		return fmt.Errorf("setting up the webhook of TrainingRuntime: %w", err)
	}
	err = ctrl.NewWebhookManagedBy(mgr, &trainer.ClusterTrainingRuntime{}).
		WithValidator(&clusterTrainingRuntimeValidator{}).WithValidatorCustomPath(PathValidateClusterTrainingRuntime).
		Complete()
	if err != nil {
		return fmt.Errorf("setting up the webhook of ClusterTrainingRuntime: %w", err)
	}
	return nil
}
