// SPDX-License-Identifier: Apache-2.0

package chartsource_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/milepost-dev/milepost/magefiles/internal/chartsource"
)

func TestWritePage(t *testing.T) {
	dir := t.TempDir()
	values, target := filepath.Join(dir, "values.yaml"), filepath.Join(dir, "page.md")
	if err := os.WriteFile(values, []byte("manager:\n  # -- How many.\n  replicas: 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := chartsource.WritePage(values, target); err != nil {
		t.Fatalf("WritePage: %v", err)
	}
	page, err := os.ReadFile(target)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(page), "---\n# Code generated from ") {
		t.Errorf("page begins %.60q, want front matter with the marker", page)
	}
	if want := "| <code>manager.<wbr>replicas</code><br><small>3</small> | How many. |\n"; !strings.Contains(string(page), want) {
		t.Errorf("page lacks the row %q:\n%s", want, page)
	}
	if err := chartsource.WritePage(filepath.Join(dir, "gone.yaml"), target); err == nil {
		t.Error("WritePage without values = nil, want an error")
	}
}
