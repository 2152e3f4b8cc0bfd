// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// assetNames are what a test of the API alone starts.
var assetNames = []string{"kube-apiserver", "etcd", "kubectl"}

// Assets returns a folder that holds kube-apiserver, etcd and kubectl side by
// side, the layout tests against a bare API server expect.
func (b *Builder) Assets(ctx context.Context) (string, error) {
	return b.Folder(ctx, "envtest", assetNames...)
}

// Folder returns a folder of links to the named programs. Its name contains
// their versions, so an upgrade never changes a folder in use.
func (b *Builder) Folder(ctx context.Context, purpose string, names ...string) (string, error) {
	paths, err := b.Paths(ctx, names...)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(b.cache, "folders", folderName(purpose, paths))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making a folder of programs: %w", err)
	}
	for i, path := range paths {
		err := os.Symlink(path, filepath.Join(dir, names[i]))
		if err != nil && !errors.Is(err, os.ErrExist) {
			return "", fmt.Errorf("linking %s: %w", names[i], err)
		}
	}
	return dir, nil
}

// folderName joins the distinct versions of the programs behind purpose.
func folderName(purpose string, paths []string) string {
	parts := []string{purpose}
	seen := map[string]bool{}
	for _, path := range paths {
		versioned := filepath.Base(filepath.Dir(path))
		version := strings.TrimPrefix(versioned, filepath.Base(path)+"-")
		if !seen[version] {
			seen[version] = true
			parts = append(parts, version)
		}
	}
	return strings.Join(parts, "-")
}
