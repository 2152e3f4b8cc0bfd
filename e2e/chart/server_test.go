// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// assetsVariable names the folder that holds kube-apiserver and etcd.
const assetsVariable = "MILEPOST_ENVTEST_ASSETS"

// server is a real API server without controllers and nodes.
type server struct {
	client     client.Client
	discovery  discovery.DiscoveryInterface
	kubeconfig string
	warnings   *warnings
}

// startServer runs an API server until the test ends.
func startServer(t *testing.T) *server {
	t.Helper()
	assets := os.Getenv(assetsVariable)
	if assets == "" {
		t.Skipf("no API server to test with; go tool mage chart:test builds one and sets %s", assetsVariable)
	}
	log.SetLogger(logr.Discard()) // what envtest does is of no interest
	env := &envtest.Environment{BinaryAssetsDirectory: assets}
	config, err := env.Start()
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stopping the API server: %v", err)
		}
	})
	if err != nil {
		t.Fatalf("starting an API server: %v", err)
	}
	user, err := env.AddUser(envtest.User{Name: "installer", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := user.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s := connect(t, config, kubeconfig)
	eventually(t, "the API server has made its own objects", func(ctx context.Context) (bool, error) {
		err := s.client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "kubernetes"}, &corev1.Service{})
		return err == nil, client.IgnoreNotFound(err)
	})
	return s
}

func connect(t *testing.T, config *rest.Config, kubeconfig string) *server {
	t.Helper()
	heard := &warnings{}
	config.QPS, config.WarningHandler = -1, heard
	scheme := clientgoscheme.Scheme
	if err := trainer.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme, FieldOwner: "test", FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		t.Fatal(err)
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &server{client: c, discovery: found, kubeconfig: kubeconfig, warnings: heard}
}

// warnings collects what the API server says beside its answers.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// take returns the warnings since the last call.
func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}

// helm runs Helm against the server.
func (s *server) helm(t *testing.T, h helm, args ...string) string {
	t.Helper()
	out, err := h.run(t.Context(), []string{"KUBECONFIG=" + s.kubeconfig, "HELM_NAMESPACE=" + namespace}, args...)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func (s *server) createNamespace(t *testing.T, labels map[string]string) {
	t.Helper()
	err := s.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: labels}})
	if err != nil {
		t.Fatal(err)
	}
}

// objects lists everything in the cluster that an installation may add, as resource and name.
func (s *server) objects(ctx context.Context) ([]string, error) {
	lists, err := s.discovery.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("listing the kinds of objects: %w", err)
	}
	var names []string
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") || slices.Contains(uninteresting, resource.Name) {
				continue
			}
			found := &unstructured.UnstructuredList{}
			found.SetGroupVersionKind(version.WithKind(resource.Kind + "List"))
			if err := s.client.List(ctx, found); err != nil {
				return nil, fmt.Errorf("listing %s: %w", resource.Name, err)
			}
			for _, object := range found.Items {
				names = append(names, resource.Name+"."+version.Group+" "+client.ObjectKeyFromObject(&object).String())
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// uninteresting are the objects that the API server makes and changes by itself.
var uninteresting = []string{
	"events", "leases", "endpoints", "endpointslices", "namespaces", "apiservices", "ipaddresses", "componentstatuses",
	"flowschemas", "prioritylevelconfigurations",
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	if err := poll(t, condition); err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

func poll(t *testing.T, condition func(context.Context) (bool, error)) error {
	t.Helper()
	return wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, condition)
}

func TestAnAPIServerTakesEveryObject(t *testing.T) {
	s := startServer(t)
	h := findHelm(t, "helm4")
	s.createNamespace(t, map[string]string{"pod-security.kubernetes.io/warn": "restricted"})
	s.installCRDs(t, h)
	for _, values := range valuesFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(values), ".yaml"), func(t *testing.T) {
			s.warnings.take()
			for _, object := range h.mustTemplate(t, "--values", values) {
				if err := s.client.Create(t.Context(), object, client.DryRunAll); err != nil && object.GetKind() != "CustomResourceDefinition" {
					t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
				}
			}
			for _, runtime := range builtinRuntimes(t, h.mustTemplate(t, "--values", values)) {
				if err := s.client.Create(t.Context(), &runtime, client.DryRunAll); err != nil {
					t.Errorf("runtime %s: %v", runtime.Name, err)
				}
			}
			for _, warning := range s.warnings.take() {
				t.Errorf("the API server warns: %s", warning)
			}
		})
	}
}

// installCRDs makes the CRDs, which dry runs of the runtimes need.
func (s *server) installCRDs(t *testing.T, h helm) {
	t.Helper()
	for _, object := range h.mustTemplate(t) {
		if object.GetKind() == "CustomResourceDefinition" {
			if err := s.client.Create(t.Context(), object); err != nil {
				t.Fatalf("%s: %v", object.GetName(), err)
			}
		}
	}
	s.wantServed(t)
}
