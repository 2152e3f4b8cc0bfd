// SPDX-License-Identifier: Apache-2.0

package gentable

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Verify generates everything and returns an error that names each file which changed by that. It
// compares with the tree as it was, so it also works while other changes are not committed yet.
func (t Table) Verify(ctx context.Context) error {
	before, err := t.sums()
	if err != nil {
		return err
	}
	if err := t.Generate(ctx); err != nil {
		return err
	}
	after, err := t.sums()
	if err != nil {
		return err
	}
	if drift := differing(before, after); len(drift) > 0 {
		return fmt.Errorf("generated files were out of date; they are fresh now, commit them:\n  %s",
			strings.Join(drift, "\n  "))
	}
	return nil
}

// sums hashes the manifest and every file that it lists or that a task's patterns match.
func (t Table) sums() (map[string][sha256.Size]byte, error) {
	paths, err := t.Listed()
	if err != nil {
		return nil, err
	}
	paths = append(paths, t.Manifest)
	for _, task := range t.Tasks {
		for _, pattern := range task.Outputs {
			matched, err := t.match(pattern)
			if err != nil {
				return nil, err
			}
			paths = append(paths, matched...)
		}
	}
	sums := map[string][sha256.Size]byte{}
	for _, path := range paths {
		if text, err := os.ReadFile(filepath.Join(t.Root, path)); err == nil {
			sums[path] = sha256.Sum256(text)
		}
	}
	return sums, nil
}

// differing lists the paths that are not the same in both.
func differing(before, after map[string][sha256.Size]byte) (paths []string) {
	for path, sum := range after {
		if old, had := before[path]; !had || old != sum {
			paths = append(paths, path)
		}
	}
	for path := range before {
		if _, has := after[path]; !has {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}
