// SPDX-License-Identifier: Apache-2.0

//go:build e2e_huggingface

package huggingface

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// PyTorch with its CUDA parts has several gigabytes. Instead of copying them into an image and the
// image into the cluster, pods mount the folders of this machine where pip has installed them. The
// variables name these folders, as PATH does, and are set by `go tool mage e2e:huggingface`.
const (
	newestVariable = "MILEPOST_E2E_TRANSFORMERS_NEWEST"
	olderVariable  = "MILEPOST_E2E_TRANSFORMERS_OLDER"
)

// mount is where pods find the folders.
const mount = "/packages"

// runtimeWith makes a runtime of the suite's namespace whose pods find packages of this machine,
// read-only.
func runtimeWith(ctx SpecContext, name, image, variable string) {
	GinkgoHelper()
	container := corev1.Container{Name: "node", Image: image}
	pod := corev1.PodSpec{}
	var path []string
	for i, folder := range filepath.SplitList(os.Getenv(variable)) {
		volume := fmt.Sprintf("packages-%d", i)
		target := fmt.Sprintf("%s/%d", mount, i)
		directory := corev1.HostPathDirectory
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: folder, Type: &directory},
		}})
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: target, ReadOnly: true})
		path = append(path, target)
	}
	container.Env = []corev1.EnvVar{
		{Name: "PYTHONPATH", Value: strings.Join(path, ":")},
		{Name: "USER", Value: "nonroot"}, // PyTorch asks for the name, and the image has no user of that number
		{Name: "HF_HUB_OFFLINE", Value: "1"},
	}
	pod.Containers = []corev1.Container{container}
	job := jobsetv1alpha2.ReplicatedJob{Name: "node", Replicas: 1, Template: batchv1.JobTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
		Spec:       batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: pod}},
	}}
	Expect(bed.Client.Create(ctx, &trainer.TrainingRuntime{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace, Labels: map[string]string{"trainer.kubeflow.org/framework": "torch"},
		},
		Spec: trainer.TrainingRuntimeSpec{
			MLPolicy: &trainer.MLPolicy{MLPolicySource: trainer.MLPolicySource{Torch: &trainer.TorchMLPolicySource{}}},
			Template: trainer.JobSetTemplateSpec{Spec: jobsetv1alpha2.JobSetSpec{ReplicatedJobs: []jobsetv1alpha2.ReplicatedJob{job}}},
		},
	})).To(Succeed())
}
