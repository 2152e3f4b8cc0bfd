// SPDX-License-Identifier: Apache-2.0

package pythonenv

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
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

func TestKept(t *testing.T) {
	maker := Maker{Cache: t.TempDir(), Output: io.Discard}
	fills := 0
	make := func(key string, fail error) (string, error) {
		return maker.kept(context.Background(), "sdk", []byte(key+"0123456789"), time.Second, func(_ context.Context, dir string) error {
			fills++
			write(t, filepath.Join(dir, "module.py"), key)
			return fail
		})
	}
	first, err := make("a", nil)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := make("a", nil); err != nil || again != first || fills != 1 {
		t.Errorf("want the kept folder, got %s, %v after %d fills", again, err, fills)
	}
	if _, err := make("b", errors.New("no route")); err == nil {
		t.Error("want the error of pip")
	}
	if _, err := os.Stat(first); err != nil {
		t.Errorf("a failure costs what was there: %v", err)
	}
	second, err := make("b", nil)
	if err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(filepath.Join(second, "module.py")); err != nil || string(content) != "b" {
		t.Errorf("want the new folder, got %s, %v", content, err)
	}
	if _, err := os.Stat(first); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("want the old folder gone, got %v", err)
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
