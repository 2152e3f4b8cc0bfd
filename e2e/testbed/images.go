// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/milepost-dev/milepost/e2e/infra"
	"github.com/milepost-dev/milepost/e2e/infra/binaries"
	"github.com/milepost-dev/milepost/e2e/infra/images"
)

// Images are the references of the images that a bed needs. An empty one is not built.
type Images struct {
	// Manager is the controller.
	Manager string
	// Digits is the training program in Go of docs/examples/go.
	Digits string
	// Python holds the Python examples of docs/examples/python below /app, with what they need.
	Python string
}

// DefaultImages names all images, for suites.
func DefaultImages() Images {
	return Images{
		Manager: "localhost/milepost/trainer-controller-manager:dev",
		Digits:  "localhost/milepost/examples/digits:dev",
		Python:  "localhost/milepost/examples/python:dev",
	}
}

// load builds the images that are named and makes them available to pods. What was built before
// from the same content is taken from the cache.
//
// It returns what identifies the content of the manager's image, so that an upgrade replaces pods
// that run an older one under the same name.
func (i Images) load(ctx context.Context, cluster infra.Cluster, progress io.Writer) (string, error) {
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	cache, err := binaries.CacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache: %w", err)
	}
	manager := ""
	store := images.NewStore(cache)
	program := func(reference, pkg string) func() (string, error) {
		return func() (string, error) {
			return store.Go(ctx, images.Go{Package: pkg, Reference: reference, Dir: root, Output: progress})
		}
	}
	builds := []struct {
		reference string
		build     func() (string, error)
	}{
		{i.Manager, program(i.Manager, "github.com/milepost-dev/milepost/controller/cmd/manager")},
		{i.Digits, program(i.Digits, "github.com/milepost-dev/milepost/docs/examples/go/digits")},
		{i.Python, func() (string, error) { return i.buildPython(ctx, store, root, progress) }},
	}
	for _, image := range builds {
		if image.reference == "" {
			continue
		}
		fmt.Fprintf(progress, "image %s\n", image.reference)
		archive, err := image.build()
		if err != nil {
			return "", fmt.Errorf("building image %s: %w", image.reference, err)
		}
		if err := cluster.LoadImage(ctx, archive); err != nil {
			return "", fmt.Errorf("loading image %s: %w", image.reference, err)
		}
		if image.reference == i.Manager {
			manager = strings.TrimSuffix(filepath.Base(archive), ".tar")
		}
	}
	return manager, nil
}

func (i Images) buildPython(ctx context.Context, store images.Store, root string, progress io.Writer) (string, error) {
	examples := filepath.Join(root, "docs", "examples", "python")
	return store.Python(ctx, images.Python{
		Reference:    i.Python,
		Requirements: filepath.Join(examples, "requirements.txt"),
		Folders:      []images.Folder{{Source: examples, Target: "/app"}},
		Output:       progress,
	})
}
