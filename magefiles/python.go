// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/milepost-dev/milepost/magefiles/internal/run"
	"github.com/milepost-dev/milepost/magefiles/internal/testcount"
)

// pythonCheck is a set of tests in Python.
type pythonCheck struct {
	name    string
	modules []string // what must be importable
	folder  string   // where unittest finds the tests
}

// pythonChecks are skipped by name where Python or one of the modules is missing.
var pythonChecks = []pythonCheck{
	{name: "Python examples", modules: []string{"numpy", "requests", "sklearn"}, folder: "docs/examples/python/tests"},
}

// python is the interpreter: $MILEPOST_PYTHON, else python3 on the PATH.
func python() string {
	if path := os.Getenv("MILEPOST_PYTHON"); path != "" {
		return path
	}
	return "python3"
}

// runPython runs the checks whose needs are met and skips the others by name. In CI a skipped
// check is a failed one.
func runPython(ctx context.Context) (total testcount.Result) {
	for _, check := range pythonChecks {
		if missing := check.missing(ctx); missing != "" {
			total = total.Plus(absent(check.name, missing, inCI()))
			continue
		}
		total = total.Plus(check.run(ctx))
	}
	return total
}

// missing says what the check lacks here, empty when it can run.
func (c pythonCheck) missing(ctx context.Context) string {
	if _, err := (run.Cmd{}).Output(ctx, python(), "-c", "import sys"); err != nil {
		return python() + " is not installed"
	}
	for _, module := range c.modules {
		if _, err := (run.Cmd{}).Output(ctx, python(), "-c", "import "+module); err != nil {
			return "the Python package " + module + " is not installed"
		}
	}
	return ""
}

func (c pythonCheck) run(ctx context.Context) testcount.Result {
	var said bytes.Buffer
	cmd := run.Cmd{Env: []string{"PYTHONDONTWRITEBYTECODE=1"}, Stdout: &said, Stderr: &said}
	err := cmd.Run(ctx, python(), "-m", "unittest", "discover", "--start-directory", c.folder)
	result := testcount.Unittest(said.String(), err == nil)
	if err != nil {
		fmt.Printf("%sFAIL  %s: %v\n", &said, c.name, err)
		return result
	}
	fmt.Printf("ok    %s  %d passed\n", c.name, result.Passed)
	return result
}

// absent is the result of a check that something is missing for.
func absent(name, missing string, isError bool) testcount.Result {
	if isError {
		fmt.Printf("FAIL  %s: %s, and CI=true allows no gaps\n", name, missing)
		return testcount.Result{Failed: 1}
	}
	return testcount.Result{Skipped: 1, Skips: []string{strings.Join([]string{name, missing}, ": ")}}
}
