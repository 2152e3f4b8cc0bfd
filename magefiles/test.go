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
type suite struct {
	dir       string   // folder of the module, empty for the root of the workspace
	workspace bool     // whether the module is part of go.work
	packages  []string // patterns
}

var (
	controllerSuite = suite{workspace: true, packages: []string{"./controller/..."}}
	e2eUnitSuite    = suite{workspace: true, packages: []string{"./e2e/..."}}
	magefilesSuite  = suite{workspace: true, packages: []string{"./magefiles/..."}}
	examplesSuite   = suite{dir: "docs/examples/go", packages: []string{"./..."}}

	// workspaceSuite is one run, so that slow packages of one module overlap with the next.
	workspaceSuite = suite{workspace: true, packages: []string{"./controller/...", "./e2e/...", "./magefiles/..."}}
)

// assetsVariable names the folder with the API server that envtest suites start.
const assetsVariable = "MILEPOST_ENVTEST_ASSETS"

// All runs every test that needs nothing but Go, and those in Python where it is installed.
func (Test) All(ctx context.Context) error {
	if err := buildAssets(ctx); err != nil {
		return err
	}
	result, err := runSuites(ctx, workspaceSuite, examplesSuite)
	return closing(result.Plus(runPython(ctx)), err)
}

// Controller runs the tests of the controller, the API server in front of a real etcd included.
func (Test) Controller(ctx context.Context) error {
	if err := buildAssets(ctx); err != nil {
		return err
	}
	return closing(runSuites(ctx, controllerSuite))
}

// E2e runs the unit tests of the end-to-end module. The suites themselves are the target e2e.
func (Test) E2e(ctx context.Context) error { return closing(runSuites(ctx, e2eUnitSuite)) }

// Magefiles runs the tests of the build itself.
func (Test) Magefiles(ctx context.Context) error { return closing(runSuites(ctx, magefilesSuite)) }

// Examples runs the tests of the examples, in Go and in Python.
func (Test) Examples(ctx context.Context) error {
	result, err := runSuites(ctx, examplesSuite)
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

// runSuites tests one suite after the other and adds up what they report.
func runSuites(ctx context.Context, suites ...suite) (total testcount.Result, err error) {
	opts := testcount.Options{Out: os.Stdout, TrimPrefix: modulePrefix}
	for _, s := range suites {
		cmd := run.Cmd{Dir: s.dir}
		if !s.workspace {
			cmd.Env = []string{"GOWORK=off"}
		}
		result, suiteErr := testcount.GoTest(ctx, cmd, opts, []string{"-tags=mage"}, s.packages)
		total, err = total.Plus(result), errors.Join(err, suiteErr)
	}
	return total, err
}

// closing lists what was skipped and ends a test target with its count.
func closing(result testcount.Result, err error) error {
	for _, skip := range result.Skips {
		fmt.Println("skipped:", skip)
	}
	fmt.Println(result.Line())
	return errors.Join(err, result.Err())
}
