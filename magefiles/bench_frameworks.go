// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/milepost-dev/milepost/magefiles/internal/frameworks"
)

// overheadPackages are what bench:frameworks compares, above the base that has torch.
var overheadPackages = []string{"kubeflow.txt", "transformers-5.txt"}

// Frameworks measures what ways of reporting cost training loops in Python, in half an hour. Options go into
// $MILEPOST_BENCH: try --help.
func (Bench) Frameworks(ctx context.Context) (err error) {
	store := frameworks.Store{Dir: filepath.Join(cacheDir(), "venvs"), Python: python()}
	if missing := store.Missing(ctx); missing != "" {
		return errors.New(missing)
	}
	made, err := os.MkdirTemp("", "milepost-frameworks-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(made)) }()
	wheel, err := buildWheel(ctx, store, made)
	if err != nil {
		return err
	}
	files := make([]string, len(overheadPackages))
	for i, file := range overheadPackages {
		files[i] = filepath.Join(frameworksDir, file)
	}
	interpreter, err := store.Above(ctx, filepath.Join(frameworksDir, "torch.txt"), "overhead", files...)
	if err != nil {
		return err
	}
	if err := frameworks.Pip(ctx, interpreter, "install", "--no-deps", "--no-index", "--force-reinstall", wheel); err != nil {
		return err
	}
	return execute(ctx, "go", overheadArguments(interpreter, os.Getenv(benchVariable))...)
}

func overheadArguments(interpreter, options string) []string {
	fixed := []string{"run", "./reporters/conformance/cmd/frameworkbench", "-python", interpreter}
	return append(fixed, strings.Fields(options)...)
}
