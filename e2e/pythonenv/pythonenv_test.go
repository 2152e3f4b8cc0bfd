// SPDX-License-Identifier: Apache-2.0

package pythonenv

import (
	"bytes"
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

func TestSourcesKey(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "src", "a.py"), "1")
	key := func() []byte {
		sum, err := sourcesKey(root, "src")
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	before := key()
	write(t, filepath.Join(root, "src", "__pycache__", "a.pyc"), "x")
	if !bytes.Equal(before, key()) {
		t.Error("want by-products of Python not to count")
	}
	write(t, filepath.Join(root, "src", "a.py"), "2")
	if bytes.Equal(before, key()) {
		t.Error("want another content to count")
	}
	if _, err := sourcesKey(root, "missing"); err == nil {
		t.Error("want an error for what is missing")
	}
}
