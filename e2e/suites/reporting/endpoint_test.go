// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package reporting

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// answer is what the endpoint said.
type answer struct {
	code   int
	header http.Header
	body   string
}

func statusPath(job *trainer.TrainJob) string {
	return fmt.Sprintf("/apis/trainer.kubeflow.org/v1alpha1/namespaces/%s/trainjobs/%s/status", job.Namespace, job.Name)
}

// token asks the API server for a token bound to the pod with the audience of the TrainJob's endpoint.
func token(ctx SpecContext, pod *corev1.Pod, job *trainer.TrainJob) string {
	GinkgoHelper()
	return tokenFor(ctx, pod, strings.TrimPrefix(statusPath(job), "/apis/"))
}

func tokenFor(ctx SpecContext, pod *corev1.Pod, audience string) string {
	GinkgoHelper()
	account := "default"
	if pod.Spec.ServiceAccountName != "" {
		account = pod.Spec.ServiceAccountName
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences:      []string{audience},
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}
	got, err := bed.Clientset.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return got.Status.Token
}

// report is a body with nothing but a progress percentage and a fixed time.
func report(percent int32) string {
	return fmt.Sprintf(`{"trainerStatus":{"progressPercentage":%d,"lastUpdatedTime":"2026-06-12T03:00:00Z"}}`, percent)
}

// post sends a report to the Service as a pod would, verifying its certificate against the CA
// that pods of the job are given.
func post(ctx SpecContext, job *trainer.TrainJob, token, body string) answer {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, bed.StatusURL(statusPath(job)), strings.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	caller, err := bed.StatusClient(ctx)
	Expect(err).NotTo(HaveOccurred())
	response, err := caller.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	return answer{code: response.StatusCode, header: response.Header, body: string(text)}
}
