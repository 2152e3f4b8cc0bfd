// SPDX-License-Identifier: Apache-2.0

// Package worksync checks that the modules of the workspace require what the workspace builds.
//
// It works on a copy: `go work sync` edits module files, and a check must not.
package worksync

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/milepost-dev/milepost/magefiles/internal/run"
)

// Check copies the files of the repository, synchronises the copy and returns an error for each
// go.mod that differs then: alone, that module is built with other versions than in the workspace.
func Check(ctx context.Context, root string, files []string) error {
	dir, err := os.MkdirTemp("", "worksync")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, name := range files {
		if !needed(name) {
			continue
		}
		if err := copyFile(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	sync := run.Cmd{Dir: dir, Env: []string{"GOWORK=" + filepath.Join(dir, "go.work")}}
	if _, err := sync.Output(ctx, "go", "work", "sync"); err != nil {
		return err
	}
	return compare(root, dir, files)
}

// needed tells whether the go command reads a file to find out what is imported.
func needed(name string) bool {
	switch path.Base(name) {
	case "go.mod", "go.sum", "go.work", "go.work.sum":
		return true
	}
	return path.Ext(name) == ".go"
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil // deleted, and the deletion is not committed yet
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

func compare(root, dir string, files []string) error {
	var problems []error
	for _, name := range files {
		if path.Base(name) != "go.mod" {
			continue
		}
		before, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue // deleted
		}
		after, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Equal(before, after) {
			problems = append(problems, fmt.Errorf("%s is behind the workspace: run go work sync", name))
		}
	}
	return errors.Join(problems...)
}
