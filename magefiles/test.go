// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/magefile/mage/mg"

	"github.com/milepost-dev/milepost/magefiles/internal/run"
	"github.com/milepost-dev/milepost/magefiles/internal/testcount"
)

// Test runs the tests that need neither root nor a cluster.
type Test mg.Namespace

// suite is a set of Go packages that are tested in one run of the go command.
type suite []string

var (
	controllerSuite = suite{"./controller/..."}
	e2eUnitSuite    = suite{"./e2e/..."}
	magefilesSuite  = suite{"./magefiles/..."}
	examplesSuite   = suite{"./docs/examples/go/...", "./e2e/examples"}
)

// assetsVariable names the folder with the API server that envtest suites start.
const assetsVariable = "MILEPOST_ENVTEST_ASSETS"

// All runs every test that needs nothing but Go, and those in other languages where they are installed.
func (Test) All(ctx context.Context) error {
	packages, err := workspacePackages(ctx)
	if err != nil {
		return err
	}
	if err := buildAssets(ctx); err != nil {
		return err
	}
	result, err := runSuite(ctx, packages)
	reporters, reportersErr := testReporters(ctx, nil, map[string]bool{"go": true}) // Go is in the workspace
	return closing(result.Plus(runPython(ctx)).Plus(reporters), errors.Join(err, reportersErr))
}

// Controller runs the tests of the controller, the API server in front of a real etcd included.
func (Test) Controller(ctx context.Context) error {
	if err := buildAssets(ctx); err != nil {
		return err
	}
	return closing(runSuite(ctx, controllerSuite))
}

// Faults runs the fault cases of the status server at the size that the project promises to stand.
// That takes about a quarter of an hour; the other test targets run them short.
func (Test) Faults(ctx context.Context) error {
	if err := buildAssets(ctx); err != nil {
		return err
	}
	return executeWith(ctx, []string{"MILEPOST_FAULTS=full"}, "go", "test", "-v", "-count=1", "-timeout=1h", "./controller/test/faults")
}

// E2e runs the unit tests of the end-to-end module. The suites themselves are the target e2e.
func (Test) E2e(ctx context.Context) error { return closing(runSuite(ctx, e2eUnitSuite)) }

// Magefiles runs the tests of the build itself.
func (Test) Magefiles(ctx context.Context) error { return closing(runSuite(ctx, magefilesSuite)) }

// Examples runs the tests of the examples in every language.
func (Test) Examples(ctx context.Context) error {
	result, err := runSuite(ctx, examplesSuite)
	return closing(result.Plus(runPython(ctx)), err)
}

// buildAssets points the envtest suites to an API server and an etcd, and builds them the first
// time.
func buildAssets(ctx context.Context) error {
	if os.Getenv(assetsVariable) != "" {
		return nil
	}
	fmt.Println("The API server and etcd of the tests are built from their Go modules and kept in " +
		cacheDir() + ". The first time this takes several minutes.")
	folder, err := run.Cmd{Stderr: os.Stderr}.Output(ctx, "go", "run", "./e2e/cmd/cluster", "binaries", "--assets")
	if err != nil {
		return err
	}
	return os.Setenv(assetsVariable, strings.TrimSpace(folder))
}

// runSuite tests the packages and counts what they report.
func runSuite(ctx context.Context, packages suite) (testcount.Result, error) {
	opts := testcount.Options{Out: os.Stdout, TrimPrefix: modulePrefix}
	return testcount.GoTest(ctx, run.Cmd{}, opts, []string{"-tags=mage"}, packages)
}

// closing lists what was skipped and ends a test target with its count.
func closing(result testcount.Result, err error) error {
	for _, skip := range result.Skips {
		fmt.Println("skipped:", skip)
	}
	fmt.Println(result.Line())
	return errors.Join(err, result.Err())
}
