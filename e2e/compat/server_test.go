// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"context"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// assetsVariable names the folder that holds kube-apiserver and etcd.
const assetsVariable = "MILEPOST_ENVTEST_ASSETS"

// server is a real API server that serves one side's CRDs.
type server struct {
	client client.Client
	config *rest.Config
}

// startServer runs an API server until the test ends. Where its programs are not at hand the
// test is skipped, except in CI.
func startServer(t *testing.T, crds string) server {
	t.Helper()
	assets := os.Getenv(assetsVariable)
	if assets == "" {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is not set; it names the folder with kube-apiserver and etcd", assetsVariable)
		}
		t.Skipf("no API server to test with: set %s to a folder with kube-apiserver and etcd", assetsVariable)
	}
	env := &envtest.Environment{
		BinaryAssetsDirectory: assets,
		CRDDirectoryPaths:     []string{crds},
		ErrorIfCRDPathMissing: true,
	}
	config, err := env.Start()
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stopping the API server: %v", err)
		}
	})
	if err != nil {
		t.Fatalf("starting an API server: %v", err)
	}
	config.QPS = -1 // the server runs for this test alone
	c, err := client.New(config, client.Options{Scheme: env.Scheme})
	if err != nil {
		t.Fatalf("making a client: %v", err)
	}
	return server{client: c, config: config}
}

// outcome is what a server makes of a case: the stored object or the refusal.
type outcome struct {
	Object map[string]any
	Error  string
}

// run takes a case through create, status and patch, as far as it has them. Only the last step
// may be refused.
func (s server) run(t *testing.T, tc apiCase) outcome {
	t.Helper()
	object := parseObject(t, tc.create)
	err := s.client.Create(t.Context(), object)
	if err == nil {
		defer s.remove(t, object)
	}
	if tc.status != "" {
		mustSucceed(t, "creating", err)
		err = s.client.Status().Patch(t.Context(), object, mergePatch(t, tc.status))
	}
	if tc.patch != "" {
		mustSucceed(t, "an earlier step", err)
		err = s.client.Patch(t.Context(), object, mergePatch(t, tc.patch))
	}
	if err != nil {
		return outcome{Error: err.Error()}
	}
	return outcome{Object: withoutIdentity(object)}
}

func (s server) remove(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	mustSucceed(t, "deleting", s.client.Delete(ctx, object))
}

func mustSucceed(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// parseObject reads an object of the group. The version, a name and the namespace are filled in.
func parseObject(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(text), &object.Object); err != nil {
		t.Fatalf("reading %.200s: %v", text, err)
	}
	object.SetAPIVersion(trainer.GroupVersion.String())
	if object.GetName() == "" {
		object.SetName("sample")
	}
	if object.GetKind() != trainer.ClusterTrainingRuntimeKind {
		object.SetNamespace(metav1.NamespaceDefault)
	}
	return object
}

func mergePatch(t *testing.T, text string) client.Patch {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	mustSucceed(t, "reading a patch", err)
	return client.RawPatch(types.MergePatchType, data)
}

// withoutIdentity leaves out what differs between two servers by nature.
func withoutIdentity(object *unstructured.Unstructured) map[string]any {
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	return object.Object
}
