// SPDX-License-Identifier: Apache-2.0

package images

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func writeFile(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// headers lists what a layer holds, as name → type, mode and time.
func headers(t *testing.T, layer v1.Layer) map[string]string {
	t.Helper()
	content, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	found := map[string]string{}
	for archive := tar.NewReader(content); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if !header.ModTime.Equal(epoch) || header.Uid != 0 {
			t.Errorf("%s: want time 0 and owner 0, got %s and %d", header.Name, header.ModTime, header.Uid)
		}
		found[header.Name] = header.FileInfo().Mode().String() + header.Linkname
	}
}

func TestFromBinary(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "program")
	writeFile(t, binary, "\x7fELF", 0o700)
	image, err := FromBinary(binary, "/opt/bin/manager")
	if err != nil {
		t.Fatal(err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if file.OS != "linux" || file.Config.User != nonroot {
		t.Errorf("want an image for linux without privileges, got %s and user %s", file.OS, file.Config.User)
	}
	if diff := cmp.Diff([]string{"/opt/bin/manager"}, file.Config.Entrypoint); diff != "" {
		t.Errorf("entrypoint (-want +got):\n%s", diff)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"opt/": "drwxr-xr-x", "opt/bin/": "drwxr-xr-x", "opt/bin/manager": "-rwxr-xr-x", "tmp/": "dtrwxrwxrwx",
	}
	if diff := cmp.Diff(want, headers(t, layers[0])); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestFolderEntries(t *testing.T) {
	source := t.TempDir()
	writeFile(t, filepath.Join(source, "train.py"), "print()", 0o600)
	writeFile(t, filepath.Join(source, "bin", "run"), "#!/bin/sh", 0o700)
	writeFile(t, filepath.Join(source, "__pycache__", "train.pyc"), "x", 0o644)
	if err := os.Symlink("train.py", filepath.Join(source, "main.py")); err != nil {
		t.Fatal(err)
	}
	entries, err := folderEntries(source, "/app/code/")
	if err != nil {
		t.Fatal(err)
	}
	layer, err := entriesLayer(entries)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"app/": "drwxr-xr-x", "app/code/": "drwxr-xr-x", "app/code/bin/": "drwxr-xr-x",
		"app/code/bin/run":  "-rwxr-xr-x",
		"app/code/train.py": "-rw-r--r--",
		"app/code/main.py":  "Lrwxrwxrwxtrain.py",
	}
	if diff := cmp.Diff(want, headers(t, layer)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestTheSameContentGivesTheSameBytes(t *testing.T) {
	store := NewStore(t.TempDir())
	archive := func(content string, age time.Duration) (string, []byte) {
		t.Helper()
		binary := filepath.Join(t.TempDir(), "program")
		writeFile(t, binary, content, 0o755)
		if err := os.Chtimes(binary, time.Now().Add(-age), time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
		path, err := store.Binary(binary, "/program", "localhost/test:1")
		if err != nil {
			t.Fatal(err)
		}
		bytes, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return path, bytes
	}
	firstPath, first := archive("one", time.Hour)
	if err := os.Remove(firstPath); err != nil { // make it anew instead of finding it
		t.Fatal(err)
	}
	againPath, again := archive("one", 0)
	if firstPath != againPath || !bytes.Equal(first, again) {
		t.Errorf("want the same bytes at the same path, got %s and %s", firstPath, againPath)
	}
	otherPath, other := archive("two", 0)
	if otherPath == firstPath || bytes.Equal(other, first) {
		t.Error("another program gives the same archive")
	}
	if _, err := os.Stat(firstPath); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("want the older archive of the reference to be gone, got %v", err)
	}
}

func TestWriteArchive(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "program")
	writeFile(t, binary, "x", 0o755)
	image, err := FromBinary(binary, "/program")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("what is written can be read under its name", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "image.tar")
		if err := WriteArchive(file, "localhost/test:1", image); err != nil {
			t.Fatal(err)
		}
		tag, err := name.NewTag("localhost/test:1")
		if err != nil {
			t.Fatal(err)
		}
		read, err := tarball.ImageFromPath(file, &tag)
		if err != nil {
			t.Fatal(err)
		}
		want, err := image.ConfigName()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := read.ConfigName(); err != nil || got != want {
			t.Errorf("want image %s, got %s and %v", want, got, err)
		}
	})
	t.Run("a reference without a tag is refused and leaves no file", func(t *testing.T) {
		dir := t.TempDir()
		if err := WriteArchive(filepath.Join(dir, "image.tar"), "localhost/test", image); err == nil {
			t.Error("want an error")
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("left behind: %v, %v", entries, err)
		}
	})
}

func TestKeysTellListsOfPartsApart(t *testing.T) {
	if newKey("ab", "c").String() == newKey("a", "bc").String() {
		t.Error("two lists of parts have the same key")
	}
	first, second := newKey("ab", "c"), newKey("ab", "c")
	if first.String() != second.String() {
		t.Error("the same parts have two keys, so nothing is ever found")
	}
}
