// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

// ApplyFiles creates every object of the YAML files and waits for custom resources to be served.
func (p *Plane) ApplyFiles(ctx context.Context, paths ...string) error {
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("reading a manifest: %w", err)
		}
		objects, err := Decode(content)
		if err != nil {
			return fmt.Errorf("decoding %s: %w", path, err)
		}
		if err := p.Create(ctx, objects...); err != nil {
			return fmt.Errorf("applying %s: %w", path, err)
		}
	}
	return nil
}

// Create creates objects and waits for custom resources to be served.
func (p *Plane) Create(ctx context.Context, objects ...*unstructured.Unstructured) error {
	client, err := dynamic.NewForConfig(p.admin)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	for _, object := range objects {
		resource, _ := apimeta.UnsafeGuessKindToResource(object.GroupVersionKind())
		_, err := client.Resource(resource).Namespace(object.GetNamespace()).Create(ctx, object, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("creating %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if object.GetKind() == "CustomResourceDefinition" {
			if err := awaitServed(ctx, client, object); err != nil {
				return fmt.Errorf("waiting for %s to be served: %w", object.GetName(), err)
			}
		}
	}
	return nil
}

// awaitServed lists the new resource until the API server knows it.
func awaitServed(ctx context.Context, client dynamic.Interface, crd *unstructured.Unstructured) error {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if group == "" || plural == "" || len(versions) == 0 {
		return errors.New("the definition names no resource")
	}
	version, _ := versions[0].(map[string]any)
	name, _ := version["name"].(string)
	resource := client.Resource(schema.GroupVersionResource{Group: group, Version: name, Resource: plural})
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, startTimeout, true, func(ctx context.Context) (bool, error) {
		_, err := resource.List(ctx, metav1.ListOptions{Limit: 1})
		if apierrors.IsNotFound(err) || apierrors.IsServiceUnavailable(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// Decode splits a YAML file into its objects.
func Decode(content []byte) ([]*unstructured.Unstructured, error) {
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	var objects []*unstructured.Unstructured
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// registerWebhooks creates the webhook configurations of a file, but only the webhooks for resource,
// and points them to a port of loopback.
func (p *Plane) registerWebhooks(ctx context.Context, path string, port int, resource string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading webhooks: %w", err)
	}
	objects, err := Decode(content)
	if err != nil {
		return fmt.Errorf("decoding %s: %w", path, err)
	}
	for _, object := range objects {
		hooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
		if err != nil {
			return fmt.Errorf("reading %s of %s: %w", object.GetName(), path, err)
		}
		kept := []any{}
		for _, hook := range hooks {
			if url := webhookURL(hook, port, resource); url != "" {
				hook.(map[string]any)["clientConfig"] = map[string]any{"url": url, "caBundle": p.authority.Base64()}
				kept = append(kept, hook)
			}
		}
		object.Object["webhooks"] = kept
	}
	return p.Create(ctx, objects...)
}

// webhookURL is where a webhook is served on loopback; empty when it is for another resource.
func webhookURL(hook any, port int, resource string) string {
	content, _ := hook.(map[string]any)
	path, _, _ := unstructured.NestedString(content, "clientConfig", "service", "path")
	rules, _, _ := unstructured.NestedSlice(content, "rules")
	for _, rule := range rules {
		fields, _ := rule.(map[string]any)
		resources, _, _ := unstructured.NestedStringSlice(fields, "resources")
		if len(resources) == 1 && resources[0] == resource {
			return fmt.Sprintf("https://%s:%d/%s", loopback, port, strings.TrimPrefix(path, "/"))
		}
	}
	return ""
}
