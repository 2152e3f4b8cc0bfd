// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAbsentIsASkipExceptInCI(t *testing.T) {
	if got := absent("Python examples", "numpy is not installed", false); got.Line() != "0 passed, 0 failed, 1 skipped" ||
		strings.Join(got.Skips, "") != "Python examples: numpy is not installed" {
		t.Errorf("absent = %+v, want one skip by name", got)
	}
	if got := absent("Python examples", "numpy is not installed", true); got.Line() != "0 passed, 1 failed, 0 skipped" {
		t.Errorf("absent in CI = %+v, want one failure", got)
	}
}

func TestMissingNamesWhatACheckLacks(t *testing.T) {
	t.Setenv("MILEPOST_PYTHON", filepath.Join(t.TempDir(), "no-python"))
	if got := (pythonCheck{}).missing(t.Context()); !strings.HasSuffix(got, "no-python is not installed") {
		t.Errorf("missing = %q, want it to name the interpreter", got)
	}

	// A stand-in for Python that knows no module but sys.
	fake := filepath.Join(t.TempDir(), "python")
	script := "#!/bin/sh\n[ \"$2\" = 'import sys' ]\n"
	if err := os.WriteFile(fake, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MILEPOST_PYTHON", fake)
	check := pythonCheck{modules: []string{"sys", "numpy"}}
	if got, want := check.missing(t.Context()), "the Python package numpy is not installed"; got != want {
		t.Errorf("missing = %q, want %q", got, want)
	}
}

func TestEveryPythonCheckHasItsTests(t *testing.T) {
	for _, check := range pythonChecks {
		found, err := filepath.Glob(filepath.Join("..", check.folder, "test_*.py"))
		if err != nil || len(found) == 0 {
			t.Errorf("%s: no tests in %s: %v", check.name, check.folder, err)
		}
	}
}
