// SPDX-License-Identifier: Apache-2.0

package builtinruntimes

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// read returns the runtimes in the YAML files of a folder, one in each, in the order of their files. The folders and links
// in which kubelet keeps the content of a mounted ConfigMap are passed over.
func read(folder string) ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(folder); err != nil {
		return nil, err
	}
	slices.Sort(files)
	var runtimes []*unstructured.Unstructured
	for _, file := range files {
		runtime, err := readFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		runtimes = append(runtimes, runtime)
	}
	return runtimes, nil
}

// readFile checks the file against the type and keeps it as it stands: what it leaves out stays out of what is applied.
func readFile(file string) (*unstructured.Unstructured, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var typed trainer.ClusterTrainingRuntime
	if err := yaml.UnmarshalStrict(text, &typed); err != nil {
		return nil, err
	}
	want := trainer.GroupVersion.WithKind(trainer.ClusterTrainingRuntimeKind)
	if got := typed.GroupVersionKind(); got != want || typed.Name == "" {
		return nil, fmt.Errorf("%s %q is no %s with a name", got.Kind, typed.Name, want.Kind)
	}
	runtime := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &runtime.Object); err != nil {
		return nil, err
	}
	labels := runtime.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[LabelManagedBy] = ManagedBy
	labels[labelValidation] = "disabled"
	runtime.SetLabels(labels)
	return runtime, nil
}
