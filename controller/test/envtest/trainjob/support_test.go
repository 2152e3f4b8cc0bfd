// SPDX-License-Identifier: Apache-2.0

package trainjob_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/testkit/builders"
	"github.com/milepost-dev/milepost/controller/internal/trainjob"
)

// newNamespace is a namespace of the test's own. Nothing collects garbage here,
// so tests never share one, and take their TrainJobs away to leave the controller
// of the next test in peace.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "trainjob-"}}
	Expect(apiServer.Create(ctx, namespace)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		Expect(apiServer.DeleteAllOf(ctx, &trainer.TrainJob{}, client.InNamespace(namespace.Name))).To(Succeed())
	})
	return namespace.Name
}

// createRuntime creates a TrainingRuntime in the namespace of the test.
func createRuntime(ctx context.Context, namespace string, runtime *builders.Runtime) {
	GinkgoHelper()
	Expect(apiServer.Create(ctx, runtime.Namespaced(namespace))).To(Succeed())
}

// createJob creates a TrainJob that names the TrainingRuntime "runtime".
func createJob(ctx context.Context, job *builders.TrainJob) *trainer.TrainJob {
	GinkgoHelper()
	created := job.NamespacedRuntime("runtime").Obj()
	Expect(apiServer.Create(ctx, created)).To(Succeed())
	return created
}

func get[T client.Object](ctx context.Context, namespace, name string, into T) T {
	GinkgoHelper()
	Expect(apiServer.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, into)).To(Succeed())
	return into
}

func eventuallyGet[T client.Object](ctx context.Context, namespace, name string, into T) T {
	GinkgoHelper()
	Eventually(func() error {
		return apiServer.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, into)
	}).Should(Succeed())
	return into
}

func jobSetOf(ctx context.Context, job *trainer.TrainJob) *jobsetv1alpha2.JobSet {
	GinkgoHelper()
	return eventuallyGet(ctx, job.Namespace, job.Name, &jobsetv1alpha2.JobSet{})
}

func stateOf(ctx context.Context, job *trainer.TrainJob) func() trainer.TrainJobState {
	return func() trainer.TrainJobState {
		var now trainer.TrainJob
		if err := apiServer.Get(ctx, client.ObjectKeyFromObject(job), &now); err != nil {
			return ""
		}
		return now.Status.State
	}
}

func conditionOf(ctx context.Context, job *trainer.TrainJob, kind string) func() string {
	return func() string {
		var now trainer.TrainJob
		if err := apiServer.Get(ctx, client.ObjectKeyFromObject(job), &now); err != nil {
			return err.Error()
		}
		found := apimeta.FindStatusCondition(now.Status.Conditions, kind)
		if found == nil {
			return ""
		}
		return fmt.Sprintf("%s %s: %s", found.Status, found.Reason, found.Message)
	}
}

// editJob changes the spec of a TrainJob, and again when somebody else wrote in
// between.
func editJob(ctx context.Context, job *trainer.TrainJob, edit func(*trainer.TrainJob)) {
	GinkgoHelper()
	Eventually(func() error {
		var now trainer.TrainJob
		if err := apiServer.Get(ctx, client.ObjectKeyFromObject(job), &now); err != nil {
			return err
		}
		edit(&now)
		return apiServer.Update(ctx, &now)
	}).Should(Succeed())
}

// setJobSetStatus does what the controller of JobSet would do.
func setJobSetStatus(ctx context.Context, job *trainer.TrainJob, edit func(*jobsetv1alpha2.JobSetStatus)) {
	GinkgoHelper()
	Eventually(func() error {
		var now jobsetv1alpha2.JobSet
		if err := apiServer.Get(ctx, client.ObjectKeyFromObject(job), &now); err != nil {
			return err
		}
		edit(&now.Status)
		return apiServer.Status().Update(ctx, &now)
	}).Should(Succeed())
}

func counts(ready, active, succeeded int32) func(*jobsetv1alpha2.JobSetStatus) {
	return func(s *jobsetv1alpha2.JobSetStatus) {
		s.ReplicatedJobsStatus = []jobsetv1alpha2.ReplicatedJobStatus{{Name: "node", Ready: ready, Active: active, Succeeded: succeeded}}
	}
}

func end(kind jobsetv1alpha2.JobSetConditionType, reason, message string) func(*jobsetv1alpha2.JobSetStatus) {
	return func(s *jobsetv1alpha2.JobSetStatus) {
		apimeta.SetStatusCondition(&s.Conditions, metav1.Condition{
			Type: string(kind), Status: metav1.ConditionTrue, Reason: reason, Message: message,
		})
	}
}

// eventsOf lists the events of a TrainJob as the Kubeflow SDK reads them: by the
// core API, leaving out those without firstTimestamp.
func eventsOf(ctx context.Context, job *trainer.TrainJob) func() []string {
	return func() []string {
		var list corev1.EventList
		if err := apiServer.List(ctx, &list, client.InNamespace(job.Namespace)); err != nil {
			return []string{err.Error()}
		}
		var out []string
		for _, e := range list.Items {
			if e.InvolvedObject.Kind == trainer.TrainJobKind && e.InvolvedObject.Name == job.Name && !e.FirstTimestamp.IsZero() {
				out = append(out, fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message))
			}
		}
		return out
	}
}

// reconciles is how often the controller ran, by its own metric.
func reconciles() float64 {
	GinkgoHelper()
	families, err := ctrlmetrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	var sum float64
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "controller" && label.GetValue() == trainjob.ControllerName {
					sum += metric.GetCounter().GetValue()
				}
			}
		}
	}
	return sum
}

// quiet waits until the controller has nothing more to do.
func quiet() float64 {
	GinkgoHelper()
	var last float64
	Eventually(func() bool {
		before := last
		last = reconciles()
		return before == last
	}).WithPolling(300 * time.Millisecond).Should(BeTrue())
	return last
}

func key(object client.Object) client.ObjectKey {
	return client.ObjectKeyFromObject(object)
}

// managers are the field owners that server-side apply recorded.
func managers(object client.Object) []string {
	var out []string
	for _, entry := range object.GetManagedFields() {
		out = append(out, entry.Manager)
	}
	return out
}
