// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/milepost-dev/milepost/e2e/infra/binaries"
)

const (
	chartPath   = "../../charts/milepost"
	release     = "kubeflow-trainer"
	namespace   = "kubeflow-system"
	managerName = "kubeflow-trainer-controller-manager"
	// kubeVersion is what the chart is rendered for. Helm 3 built from its module knows no version of its own.
	kubeVersion = "1.37.2"
)

// helm is the path of one version of Helm.
type helm string

// eachHelm runs a test with Helm 3 and with Helm 4.
func eachHelm(t *testing.T, test func(*testing.T, helm)) {
	t.Helper()
	for name, version := range map[string]string{"Helm 3": "helm3", "Helm 4": "helm4"} {
		t.Run("with "+name, func(t *testing.T) { test(t, findHelm(t, version)) })
	}
}

// findHelm takes the program that $MILEPOST_HELM3 or $MILEPOST_HELM4 names, or one that was built before.
func findHelm(t *testing.T, name string) helm {
	t.Helper()
	if path := os.Getenv("MILEPOST_" + strings.ToUpper(name)); path != "" {
		return helm(path)
	}
	builder, err := binaries.New(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	version, err := builder.Version(name)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(builder.Cache(), "bin", name+"-"+version, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not built; go tool mage chart:test builds it", name)
	}
	return helm(path)
}

// run returns what Helm printed, and an error that holds what it complained about.
func (h helm) run(ctx context.Context, env []string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, string(h), args...)
	command.Env = append(os.Environ(), env...)
	var complaints bytes.Buffer
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil {
		return out, fmt.Errorf("helm %s: %w: %s", args[0], err, complaints.Bytes())
	}
	return out, nil
}

// template renders the chart for the default release. Arguments such as "--set" go to Helm as they are.
func (h helm) template(t *testing.T, args ...string) (manifests, error) {
	t.Helper()
	out, err := h.run(t.Context(), nil, append([]string{
		"template", release, chartPath, "--namespace", namespace, "--kube-version", kubeVersion,
	}, args...)...)
	if err != nil {
		return nil, err
	}
	return parse(t, out), nil
}

func (h helm) mustTemplate(t *testing.T, args ...string) manifests {
	t.Helper()
	made, err := h.template(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// manifests are the objects that a chart renders to.
type manifests []*unstructured.Unstructured

func parse(t *testing.T, text []byte) manifests {
	t.Helper()
	var objects manifests
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("reading what was rendered: %v", err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// names lists the objects as Kind/name.
func (m manifests) names() []string {
	var names []string
	for _, object := range m {
		names = append(names, object.GetKind()+"/"+object.GetName())
	}
	return names
}

// get reads the object of a kind and name into a typed one; the test fails when there is none.
func get[T any](t *testing.T, m manifests, kind, name string) *T {
	t.Helper()
	into := new(T)
	for _, object := range m {
		if object.GetKind() == kind && object.GetName() == name {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
				t.Fatalf("reading %s %s: %v", kind, name, err)
			}
			return into
		}
	}
	t.Fatalf("no %s %s among %q", kind, name, m.names())
	return nil
}
