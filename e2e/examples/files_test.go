// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"os"
	"path/filepath"
	"testing"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A program is built anew when its reporter changed, and only when something did.
func TestContentKey(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, digits), "0,1")
	write(t, filepath.Join(root, "reporter", "src", "main.rs"), "one")
	r := recipe{sources: []string{"reporter"}, command: []string{"./train"}}
	key := func(version string) string {
		t.Helper()
		k, err := contentKey(root, version, r)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	first := key("1.0")
	write(t, filepath.Join(root, "reporter", "target", "debug"), "made by a tool")
	if key("1.0") != first {
		t.Error("what a tool left changes the key")
	}
	if key("1.1") == first {
		t.Error("another version of the tool has the same key")
	}
	write(t, filepath.Join(root, "reporter", "src", "main.rs"), "two")
	second := key("1.0")
	if second == first {
		t.Error("another content has the same key")
	}
	if err := os.Rename(filepath.Join(root, "reporter", "src"), filepath.Join(root, "reporter", "lib")); err != nil {
		t.Fatal(err)
	}
	if key("1.0") == second {
		t.Error("another name has the same key")
	}
	if err := os.RemoveAll(filepath.Join(root, "reporter")); err != nil {
		t.Fatal(err)
	}
	if _, err := contentKey(root, "1.0", r); err == nil {
		t.Error("a source that is not there has a key")
	}
}

func TestCopies(t *testing.T) {
	source := filepath.Join(t.TempDir(), "source")
	write(t, filepath.Join(source, "train.sh"), "#!/bin/sh")
	write(t, filepath.Join(source, "node_modules", "a", "index.js"), "1")
	if err := os.Chmod(filepath.Join(source, "train.sh"), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		copy        func(source, target string) error
		wantModules bool
	}{
		"sources leave out what tools left": {copy: copySources},
		"all is all":                        {copy: copyAll, wantModules: true},
	} {
		t.Run(name, func(t *testing.T) {
			target := filepath.Join(t.TempDir(), "target")
			if err := tc.copy(source, target); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(filepath.Join(target, "train.sh"))
			if err != nil || info.Mode().Perm()&0o100 == 0 {
				t.Errorf("the program is %v, %v; want it executable", info, err)
			}
			if _, err := os.Stat(filepath.Join(target, "node_modules", "a", "index.js")); (err == nil) != tc.wantModules {
				t.Errorf("modules: %v, want them %v", err, tc.wantModules)
			}
		})
	}
}
