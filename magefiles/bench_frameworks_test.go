// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestOverheadOfFrameworksFindsItsFiles(t *testing.T) {
	for _, file := range append([]string{"torch.txt", "overhead.py"}, overheadPackages...) {
		if _, err := os.Stat(filepath.Join("..", frameworksDir, file)); err != nil {
			t.Error(err)
		}
	}
	if got := overheadArguments("py", "-rounds 1"); !slices.Contains(got, "py") || got[len(got)-1] != "1" {
		t.Errorf("the arguments are %q", got)
	}
}
