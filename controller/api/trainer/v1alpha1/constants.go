// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Kinds of this package, as written in `kind` and in `spec.runtimeRef.kind`.
const (
	TrainJobKind               string = "TrainJob"
	TrainingRuntimeKind        string = "TrainingRuntime"
	ClusterTrainingRuntimeKind string = "ClusterTrainingRuntime"
)

// Types of the entries in TrainJob `status.conditions`. There is none for a job that is
// created or running: published clients take any other entry for "not started yet".
const (
	// TrainJobSuspended is "True" while the job is held back, and "False" once it was
	// resumed. A job that was never suspended has no such condition.
	TrainJobSuspended string = "Suspended"

	// TrainJobComplete is "True" when the training succeeded. It is terminal.
	TrainJobComplete string = "Complete"

	// TrainJobFailed is "True" when the training ended without success. It is terminal.
	TrainJobFailed string = "Failed"
)

// Reasons of conditions that the controller decides itself. Complete and Failed otherwise
// carry the reason given by the JobSet, such as "AllJobsCompleted".
const (
	// TrainJobSuspendedReason goes with Suspended=True.
	TrainJobSuspendedReason string = "Suspended"

	// TrainJobResumedReason goes with Suspended=False.
	TrainJobResumedReason string = "Resumed"

	// TrainJobRuntimeNotSupportedReason goes with Failed=True when spec.runtimeRef names a
	// group and kind that is not a training runtime.
	TrainJobRuntimeNotSupportedReason string = "TrainingRuntimeNotSupported"

	// TrainJobDeadlineExceededReason goes with Failed=True when
	// spec.activeDeadlineSeconds has passed.
	TrainJobDeadlineExceededReason string = "DeadlineExceeded"
)

// Values of `spec.managedBy`.
const (
	// ManagedByTrainJobController hands the job to the TrainJob controller. It is the default.
	ManagedByTrainJobController string = "trainer.kubeflow.org/trainjob-controller"

	// ManagedByMultiKueue hands the job to Kueue's multi-cluster dispatcher. The TrainJob
	// controller then touches neither the job nor its status.
	ManagedByMultiKueue string = "kueue.x-k8s.io/multikueue"
)

// Labels with a meaning to clients and to the controller.
const (
	// LabelFramework names, on a runtime, the framework it runs ("torch", "jax", …). The
	// Kubeflow SDK lists only runtimes that carry it.
	LabelFramework string = "trainer.kubeflow.org/framework"

	// LabelTrainJobAncestor marks the Job template of a runtime that a part of the TrainJob
	// fills in: AncestorDatasetInitializer, AncestorModelInitializer or AncestorTrainer.
	LabelTrainJobAncestor string = "trainer.kubeflow.org/trainjob-ancestor-step"

	// LabelSupport tells, on a runtime, how long it will be kept; see SupportDeprecated.
	LabelSupport string = "trainer.kubeflow.org/support"

	// LabelWebhookValidation, set to WebhookValidationDisabled on a runtime, exempts it from
	// the validating webhook, so that it can be installed before the webhook serves.
	LabelWebhookValidation string = "trainer.kubeflow.org/webhook-validation"
)

// Values of the labels above.
const (
	// AncestorDatasetInitializer belongs to `spec.initializer.dataset`.
	AncestorDatasetInitializer string = "dataset-initializer"

	// AncestorModelInitializer belongs to `spec.initializer.model`.
	AncestorModelInitializer string = "model-initializer"

	// AncestorTrainer belongs to `spec.trainer`.
	AncestorTrainer string = "trainer"

	// SupportDeprecated, the value of LabelSupport, makes the webhook warn those who use
	// the runtime.
	SupportDeprecated string = "deprecated"

	// WebhookValidationDisabled is the one value of LabelWebhookValidation that has an effect.
	WebhookValidationDisabled string = "disabled"
)

// ResourceInUseFinalizer was put on runtimes by Kubeflow Trainer v2.2. It is known here only
// to be removed: with it a runtime could never be deleted.
const ResourceInUseFinalizer string = GroupName + "/resource-in-use"
