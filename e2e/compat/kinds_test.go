// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"math/rand"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	configapi "github.com/milepost-dev/milepost/controller/api/config/v1alpha1"
	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// kinds makes an empty object of ours for every kind that both sides have.
var kinds = map[string]func() any{
	"Configuration":               func() any { return &configapi.Configuration{} },
	"ClusterTrainingRuntime":      func() any { return &trainer.ClusterTrainingRuntime{} },
	"ClusterTrainingRuntimeList":  func() any { return &trainer.ClusterTrainingRuntimeList{} },
	"TrainingRuntime":             func() any { return &trainer.TrainingRuntime{} },
	"TrainingRuntimeList":         func() any { return &trainer.TrainingRuntimeList{} },
	"TrainJob":                    func() any { return &trainer.TrainJob{} },
	"TrainJobList":                func() any { return &trainer.TrainJobList{} },
	"UpdateTrainJobStatusRequest": func() any { return &trainer.UpdateTrainJobStatusRequest{} },
}

// ourAdditions are the fields that Milepost adds, by kind.
var ourAdditions = map[string][]string{
	"TrainJob":      {".status.lastUpdatedNanos", ".status.state"},
	"Configuration": {".metrics.auth"},
}

// newerKubernetes are fields that Kubernetes types have gained between the version Kubeflow
// Trainer v2.3.0 is built with (1.36) and ours (1.37). They end the path of the field.
var newerKubernetes = []string{
	".template.spec.scheduling",
	".template.spec.evictionResponders",
	".httpGet.protocol",
	".grpc.mode",
	".volumeMounts[].bindMountOptions",
	".emptyDir.mode",
	".defaultUser",
	".items[].user",
	".clusterTrustBundle.user",
	".podCertificate.user",
	".serviceAccountToken.user",
	".templates[].status.healthStatus",
}

// isNewerKubernetes tells whether a field that only our side has comes from Kubernetes.
func isNewerKubernetes(path string) bool {
	return slices.ContainsFunc(newerKubernetes, func(suffix string) bool { return strings.HasSuffix(path, suffix) })
}

// fill sets random fields of an object of ours, or with full all of them. Our additions stay
// empty: a section that holds nothing else could not be compared.
func fill(object any, seed int64, full bool) {
	codecs := serializer.NewCodecFactory(runtime.NewScheme())
	funcs := fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, func(serializer.CodecFactory) []any {
		return []any{
			func(status *trainer.TrainJobStatus, c randfill.Continue) {
				c.FillNoCustom(status)
				status.State, status.LastUpdatedNanos = "", nil
			},
			func(metrics *configapi.ControllerMetrics, c randfill.Continue) {
				c.FillNoCustom(metrics)
				metrics.Auth = nil
			},
		}
	})
	filler := fuzzer.FuzzerFor(funcs, rand.NewSource(seed), codecs)
	filler.NumElements(0, 3)
	if full {
		filler.NilChance(0).NumElements(1, 2)
	}
	filler.Fill(object)
}
