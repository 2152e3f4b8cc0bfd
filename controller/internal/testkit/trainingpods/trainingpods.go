// SPDX-License-Identifier: Apache-2.0

// Package trainingpods makes TrainJobs with pods on a real API server, and the
// tokens of those pods.
//
// It owns the objects as the controllers would have left them: JobSet, Job and
// pod, each owned by the one above, and pods that stay pending for want of a
// node. It does not own those controllers: the TrainJobs say that another
// controller manages them, so that ours leaves them alone.
package trainingpods

import (
	"context"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/reportlink"
)

const (
	// Account is the service account of the pods.
	Account = "trainer"
	// managedElsewhere keeps the job flow away.
	managedElsewhere = "kueue.x-k8s.io/multikueue"
	// TokenSeconds is the life of tokens, as the pod template asks for.
	TokenSeconds = reportlink.TokenExpirationSeconds
)

// Kit makes objects in one namespace.
type Kit struct {
	Client    client.Client
	Namespace string
	// Change is given each TrainJob before it is created; nil changes nothing.
	Change func(*trainer.TrainJob)
}

// Set is a TrainJob with what belongs to it.
type Set struct {
	TrainJob *trainer.TrainJob
	JobSet   *jobsetv1alpha2.JobSet
	Job      *batchv1.Job
	Pods     []*corev1.Pod
}

// Prepare makes the namespace and the service account.
func (k Kit) Prepare(ctx context.Context) error {
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: k.Namespace}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: Account}},
	} {
		if err := k.Client.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating %T: %w", object, err)
		}
	}
	return nil
}

// Create makes a TrainJob with so many pods.
func (k Kit) Create(ctx context.Context, name string, pods int) (*Set, error) {
	set := &Set{
		TrainJob: &trainer.TrainJob{
			ObjectMeta: k.meta(name),
			Spec: trainer.TrainJobSpec{
				RuntimeRef: trainer.RuntimeRef{Name: "none"}, ManagedBy: new(managedElsewhere),
			},
		},
		JobSet: &jobsetv1alpha2.JobSet{ObjectMeta: k.meta(name), Spec: jobsetv1alpha2.JobSetSpec{
			ReplicatedJobs: []jobsetv1alpha2.ReplicatedJob{{Name: "node", Replicas: 1, Template: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: podTemplate()}}}},
		}},
		Job: &batchv1.Job{ObjectMeta: k.meta(name + "-node-0"), Spec: batchv1.JobSpec{Template: podTemplate(), Suspend: new(false)}},
	}
	set.Job.Labels = map[string]string{jobsetv1alpha2.JobSetNameKey: name}
	if k.Change != nil {
		k.Change(set.TrainJob)
	}
	if err := k.Client.Create(ctx, set.TrainJob); err != nil {
		return nil, fmt.Errorf("creating TrainJob %s: %w", name, err)
	}
	if err := k.createOwned(ctx, set.TrainJob, set.JobSet); err != nil {
		return nil, err
	}
	if err := k.createOwned(ctx, set.JobSet, set.Job); err != nil {
		return nil, err
	}
	for i := range pods {
		pod, err := k.AddPod(ctx, set, fmt.Sprintf("%s-node-0-%d", name, i))
		if err != nil {
			return nil, err
		}
		set.Pods = append(set.Pods, pod)
	}
	return set, nil
}

// AddPod makes a pod that belongs to the set.
func (k Kit) AddPod(ctx context.Context, set *Set, name string) (*corev1.Pod, error) {
	pod := k.Pod(name)
	pod.Labels = map[string]string{jobsetv1alpha2.JobSetNameKey: set.JobSet.Name}
	return pod, k.createOwned(ctx, set.Job, pod)
}

// Pod is a pod that belongs to nobody. It is not created yet.
func (k Kit) Pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: k.meta(name), Spec: podTemplate().Spec}
}

func (k Kit) createOwned(ctx context.Context, owner, object client.Object) error {
	if err := controllerutil.SetControllerReference(owner, object, k.Client.Scheme()); err != nil {
		return fmt.Errorf("owning %T: %w", object, err)
	}
	if err := k.Client.Create(ctx, object); err != nil {
		return fmt.Errorf("creating %T %s: %w", object, object.GetName(), err)
	}
	return nil
}

// Delete removes the set at once, as nothing else does here.
func (k Kit) Delete(ctx context.Context, set *Set) error {
	errs := []error{k.remove(ctx, set.TrainJob), k.remove(ctx, set.JobSet), k.remove(ctx, set.Job)}
	for _, pod := range set.Pods {
		errs = append(errs, k.remove(ctx, pod))
	}
	return errors.Join(errs...)
}

func (k Kit) remove(ctx context.Context, object client.Object) error {
	return client.IgnoreNotFound(k.Client.Delete(ctx, object, client.GracePeriodSeconds(0), client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

// Token asks the API server for a token of the pod with the audience of the job.
func (k Kit) Token(ctx context.Context, pod *corev1.Pod, trainJob string) (string, error) {
	return k.TokenFor(ctx, pod, reportlink.Audience(k.Namespace, trainJob))
}

// TokenFor asks for a token of the pod, or of the service account alone when pod
// is nil, with any audiences.
func (k Kit) TokenFor(ctx context.Context, pod *corev1.Pod, audiences ...string) (string, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences: audiences, ExpirationSeconds: new(int64(TokenSeconds)),
	}}
	if pod != nil {
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: Account}}
	if err := k.Client.SubResource("token").Create(ctx, account, request); err != nil {
		return "", fmt.Errorf("requesting a token: %w", err)
	}
	return request.Status.Token, nil
}

// Status reads what is stored for a TrainJob.
func (k Kit) Status(ctx context.Context, name string) (*trainer.TrainerStatus, error) {
	var job trainer.TrainJob
	if err := k.Client.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: name}, &job); err != nil {
		return nil, fmt.Errorf("reading TrainJob %s: %w", name, err)
	}
	return job.Status.TrainerStatus, nil
}

func (k Kit) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: k.Namespace, Name: name}
}

func podTemplate() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		ServiceAccountName: Account, RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{Name: "node", Image: "localhost/nothing:latest"}},
	}}
}
