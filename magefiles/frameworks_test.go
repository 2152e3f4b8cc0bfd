// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/milepost-dev/milepost/magefiles/internal/frameworks"
)

func TestEveryFrameworkTestRunsSomewhere(t *testing.T) {
	folder := filepath.Join("..", filepath.FromSlash(frameworksDir))
	tests, err := filepath.Glob(filepath.Join(folder, "tests", "test_*.py"))
	if err != nil || len(tests) == 0 {
		t.Fatalf("no tests of frameworks: %v", err)
	}
	all, err := frameworks.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, e := range all {
		named = append(named, e.Tests...)
	}
	for _, test := range tests {
		if name := "tests/" + filepath.Base(test); !slices.Contains(named, name) {
			t.Errorf("%s names %s for no environment", frameworks.Table, name)
		}
	}
}
