// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/milepost-dev/milepost/magefiles/internal/frameworks"
	"github.com/milepost-dev/milepost/magefiles/internal/run"
	"github.com/milepost-dev/milepost/magefiles/internal/testcount"
)

const (
	pythonDir     = "reporters/python"
	frameworksDir = pythonDir + "/frameworks"
	// frameworksBinary names the milepost command that the tests run programs under.
	frameworksBinary = "MILEPOST_BINARY"
)

// Frameworks tests the Python integrations with real frameworks, all but the heavy ones; -env names one environment.
func (Reporter) Frameworks(ctx context.Context, env *string) (err error) {
	all, err := frameworks.Read(frameworksDir)
	if err != nil {
		return err
	}
	list, err := frameworks.Select(all, given(env))
	if err != nil {
		return err
	}
	store := frameworks.Store{Dir: filepath.Join(cacheDir(), "venvs"), Python: python()}
	if missing := store.Missing(ctx); missing != "" {
		return closing(absent("frameworks", missing, inCI()), nil)
	}
	made, err := os.MkdirTemp("", "milepost-frameworks-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(made)) }()
	built, err := buildForFrameworks(ctx, store, made)
	if err != nil {
		return err
	}
	var total testcount.Result
	for _, e := range list {
		total = total.Plus(built.test(ctx, e))
	}
	return closing(total, nil)
}

// frameworksBuild is what the tests need of this checkout.
type frameworksBuild struct {
	store  frameworks.Store
	binary string
	wheel  string
}

// buildForFrameworks builds the command and the Python package into a folder.
func buildForFrameworks(ctx context.Context, store frameworks.Store, folder string) (built frameworksBuild, err error) {
	built = frameworksBuild{store: store, binary: filepath.Join(folder, "milepost")}
	if err := executeWith(ctx, []string{"CGO_ENABLED=0"}, "go", "build", "-o", built.binary, binaries["milepost"]); err != nil {
		return built, err
	}
	built.wheel, err = buildWheel(ctx, store, folder)
	return built, err
}

// buildWheel builds the Python package into a folder.
func buildWheel(ctx context.Context, store frameworks.Store, folder string) (string, error) {
	tools, err := store.Environment(ctx, "tools", pythonDir+"/requirements-dev.txt")
	if err != nil {
		return "", err
	}
	quiet := run.Cmd{Stderr: os.Stderr}
	if _, err := quiet.Output(ctx, tools, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, pythonDir); err != nil {
		return "", err
	}
	wheels, err := filepath.Glob(filepath.Join(folder, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return "", fmt.Errorf("building the Python package made %q: %w", wheels, err)
	}
	return wheels[0], nil
}

// test runs the tests of one environment, with the package of this checkout installed.
func (b frameworksBuild) test(ctx context.Context, e frameworks.Environment) testcount.Result {
	var said bytes.Buffer
	err := b.run(ctx, e, &said)
	result := testcount.Said("pytest", said.String())
	if err != nil {
		result.Failed = max(1, result.Failed)
		fmt.Printf("%sFAIL  %s: %v\n", &said, e.Name, err)
		return result
	}
	fmt.Printf("ok    %s  %s\n", e.Name, result.Line())
	return result
}

func (b frameworksBuild) run(ctx context.Context, e frameworks.Environment, said *bytes.Buffer) error {
	files := make([]string, len(e.Requirements))
	for i, file := range e.Requirements {
		files[i] = filepath.Join(frameworksDir, file)
	}
	interpreter, err := b.environment(ctx, e.Name, e.Base, files)
	if err != nil {
		return err
	}
	if err := frameworks.Pip(ctx, interpreter, "install", "--no-deps", "--no-index", "--force-reinstall", b.wheel); err != nil {
		return err
	}
	fmt.Printf("      %s: testing\n", e.Name)
	env := []string{frameworksBinary + "=" + b.binary, "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH="}
	cmd := run.Cmd{Dir: frameworksDir, Env: env, Stdout: said, Stderr: said}
	return cmd.Run(ctx, interpreter, append([]string{"-m", "pytest", "--quiet"}, e.Tests...)...)
}

func (b frameworksBuild) environment(ctx context.Context, name, base string, files []string) (python string, err error) {
	if base == "" {
		return b.store.Environment(ctx, name, files...)
	}
	return b.store.Above(ctx, filepath.Join(frameworksDir, base), name, files...)
}
