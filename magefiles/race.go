// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/milepost-dev/milepost/magefiles/internal/leakcheck"
	"github.com/milepost-dev/milepost/magefiles/internal/run"
	"github.com/milepost-dev/milepost/magefiles/internal/testcount"
)

// raceSuite is what runs under the race detector: all that has goroutines of its own at work.
var raceSuite = suite{"./controller/...", "./reporters/go/...", "./reporters/conformance/..."}

// leakFree are the folders whose tests must look for goroutines that are left over, with what in
// them only serves the tests of others.
var leakFree = map[string][]string{"controller": {"internal/testkit"}}

// Race runs the tests of the controller and of what reports in Go under the race detector, API server and manager
// included, and makes sure that every package which starts goroutines looks for those that are left over.
func (Test) Race(ctx context.Context) error {
	if err := needCompiler(ctx); err != nil {
		return err
	}
	checked, err := checkLeaks()
	if err != nil {
		return err
	}
	if err := buildAssets(ctx); err != nil {
		return err
	}
	opts := testcount.Options{Out: os.Stdout, TrimPrefix: modulePrefix}
	// The detector makes programs some ten times slower.
	result, err := testcount.GoTest(ctx, run.Cmd{}, opts, []string{"-race", "-count=1", "-timeout=1h"}, raceSuite)
	if err = closing(result, err); err == nil {
		fmt.Printf("no data race, and no goroutine is left over in the %d packages that start some\n", checked)
	}
	return err
}

// checkLeaks makes sure that tests look for goroutines that are left over, and counts the packages
// whose tests have to.
func checkLeaks() (int, error) {
	checked := 0
	var problems []error
	for folder, without := range leakFree {
		n, err := leakcheck.Check(folder, without...)
		checked += n
		problems = append(problems, err)
	}
	return checked, errors.Join(problems...)
}

// needCompiler says in one line what the race detector lacks: its runtime is linked by a C compiler.
func needCompiler(ctx context.Context) error {
	settings, err := output(ctx, "go", "env", "CGO_ENABLED", "CC")
	if err != nil {
		return err
	}
	enabled, compiler, _ := strings.Cut(strings.TrimSpace(settings), "\n")
	program := strings.Fields(compiler)
	if enabled == "1" && len(program) > 0 {
		if _, err := exec.LookPath(program[0]); err == nil {
			return nil
		}
	}
	return errors.New("the race detector needs a C compiler and CGO_ENABLED=1")
}
