// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package reporting

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// Tokens here are real ones: issued by the API server for the pods named, with the audience of
// the TrainJob, exactly as kubelet asks for the projected volume.
var _ = Describe("the status endpoint", Ordered, func() {
	var job, other *trainer.TrainJob
	var pod *corev1.Pod

	BeforeAll(func(ctx SpecContext) {
		job, other = idleJob("identity"), idleJob("other")
		create(ctx, job)
		create(ctx, other)
		pod = runningPod(ctx, job)
	})

	It("takes a report of the job's own pod and answers with the report as stored", func(ctx SpecContext) {
		answer := post(ctx, job, token(ctx, pod, job), report(30))
		Expect(answer.code).To(Equal(http.StatusOK), answer.body)
		Expect(answer.body).To(MatchJSON(`{"trainerStatus":{"progressPercentage":30,"lastUpdatedTime":"2026-06-12T03:00:00Z"}}`))
		Eventually(func(g Gomega) {
			g.Expect(get(ctx, job).Status.TrainerStatus).To(HaveField("ProgressPercentage", HaveValue(BeEquivalentTo(30))))
		}).WithContext(ctx).Should(Succeed())
	})

	It("answers 401 with no token", func(ctx SpecContext) {
		answer := post(ctx, job, "", report(99))
		Expect(answer.code).To(Equal(http.StatusUnauthorized), answer.body)
		Expect(answer.header.Get("WWW-Authenticate")).To(HavePrefix("Bearer"))
		expectProgress(ctx, job, 30)
	})

	It("answers 401 to a token for another audience", func(ctx SpecContext) {
		answer := post(ctx, job, tokenFor(ctx, pod, "https://kubernetes.default.svc"), report(99))
		Expect(answer.code).To(Equal(http.StatusUnauthorized), answer.body)
		expectProgress(ctx, job, 30)
	})

	It("answers 403 to the token of another job", func(ctx SpecContext) {
		answer := post(ctx, job, token(ctx, runningPod(ctx, other), other), report(99))
		Expect(answer.code).To(Equal(http.StatusForbidden), answer.body)
		expectProgress(ctx, job, 30)
	})

	It("answers 403 to a pod of another job that asked for this job's audience", func(ctx SpecContext) {
		answer := post(ctx, job, token(ctx, runningPod(ctx, other), job), report(99))
		Expect(answer.code).To(Equal(http.StatusForbidden), answer.body)
		expectProgress(ctx, job, 30)
	})

	It("answers 403 to a plain pod of the namespace with this job's audience and labels", func(ctx SpecContext) {
		stranger := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "stranger", Namespace: job.Namespace, Labels: pod.Labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{idleContainer()}},
		}
		Expect(bed.Client.Create(ctx, stranger)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(bed.Client.Delete(ctx, stranger, client.GracePeriodSeconds(0))).To(Succeed())
		})
		answer := post(ctx, job, token(ctx, stranger, job), report(99))
		Expect(answer.code).To(Equal(http.StatusForbidden), answer.body)
		expectProgress(ctx, job, 30)
	})

	It("answers 403 to a pod of a deleted job of the same name", func(ctx SpecContext) {
		old := token(ctx, pod, job)
		Expect(bed.Client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		waitGone(ctx, job)
		again := idleJob("identity")
		create(ctx, again)
		successor := runningPod(ctx, again)
		Expect(successor.UID).NotTo(Equal(pod.UID))

		answer := post(ctx, again, old, report(99))
		Expect(answer.code).To(Equal(http.StatusForbidden), answer.body)
		Expect(get(ctx, again).Status.TrainerStatus).To(BeNil())

		answer = post(ctx, again, token(ctx, successor, again), report(10))
		Expect(answer.code).To(Equal(http.StatusOK), answer.body)
		expectProgress(ctx, again, 10)
	}, SpecTimeout(3*time.Minute))

	It("answers 404 for a job that does not exist to a caller that may report", func(ctx SpecContext) {
		missing := idleJob("missing")
		answer := post(ctx, missing, token(ctx, runningPod(ctx, other), missing), report(1))
		Expect(answer.code).To(Equal(http.StatusNotFound), answer.body)
	})
})
