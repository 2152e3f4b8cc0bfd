// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestNodeError(t *testing.T) {
	cases := map[string]struct {
		goos     string
		uid      int
		wantText string
	}{
		"root on Linux may run a node":       {goos: "linux", uid: 0},
		"another system is named":            {goos: "darwin", uid: 0, wantText: "needs Linux, not darwin"},
		"without root the way there is told": {goos: "linux", uid: 1000, wantText: "go tool mage e2e"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := nodeError("e2e", tc.goos, tc.uid)
			if (err == nil) != (tc.wantText == "") {
				t.Fatalf("nodeError = %v, want text %q", err, tc.wantText)
			}
			if err == nil {
				return
			}
			if !strings.Contains(err.Error(), tc.wantText) || strings.Contains(err.Error(), "\n") {
				t.Errorf("nodeError = %q, want one line with %q", err, tc.wantText)
			}
		})
	}
}

func TestCacheDir(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("MILEPOST_CACHE", "/elsewhere")
	if got := cacheDir(); got != "/elsewhere" {
		t.Errorf("cacheDir = %q, want the folder that MILEPOST_CACHE names", got)
	}
	t.Setenv("MILEPOST_CACHE", "")
	if got := cacheDir(); !strings.HasPrefix(got, home) || filepath.Base(got) != "milepost" {
		t.Errorf("cacheDir = %q, want the folder milepost below the user's cache", got)
	}
	t.Setenv("HOME", "")
	if got := cacheDir(); !strings.HasPrefix(got, os.TempDir()) {
		t.Errorf("cacheDir = %q, want a temporary folder where there is no home", got)
	}
}

func TestEveryToolModuleExists(t *testing.T) {
	for name, module := range toolModules {
		text, err := os.ReadFile(filepath.Join("..", module, "go.mod"))
		if err != nil || !strings.Contains(string(text), "tool ") {
			t.Errorf("%s is said to be pinned in %s/go.mod: %v", name, module, err)
		}
	}
}

func TestWorkspacePackagesCoverEveryModule(t *testing.T) {
	t.Chdir("..")
	got, err := workspacePackages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"./controller/...", "./e2e/...", "./magefiles/..."} {
		if !slices.Contains(got, want) {
			t.Errorf("packages = %q, want %q among them", got, want)
		}
	}
}
