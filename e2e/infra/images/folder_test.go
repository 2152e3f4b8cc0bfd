// SPDX-License-Identifier: Apache-2.0

package images

import (
	"maps"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func TestProgramOnNothing(t *testing.T) {
	source := t.TempDir()
	writeFile(t, filepath.Join(source, "train"), "\x7fELF", 0o700)
	store := NewStore(t.TempDir())
	program := Program{
		Reference: "localhost/test:1", Folders: []Folder{{Source: source, Target: "/app"}}, Entrypoint: []string{"./train"},
	}
	archive, err := store.Program(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		t.Fatal(err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if file.Config.WorkingDir != "/app" || file.Config.User != nonroot {
		t.Errorf("programs start in %s as %s, want /app and %s", file.Config.WorkingDir, file.Config.User, nonroot)
	}
	if diff := cmp.Diff([]string{"./train"}, file.Config.Entrypoint); diff != "" {
		t.Errorf("entrypoint (-want +got):\n%s", diff)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, layer := range layers {
		maps.Copy(found, headers(t, layer))
	}
	want := map[string]string{"tmp/": "dtrwxrwxrwx", "app/": "drwxr-xr-x", "app/train": "-rwxr-xr-x"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}

	writeFile(t, filepath.Join(source, "train"), "\x7fELF2", 0o700)
	if again, err := store.Program(t.Context(), program); err != nil || again == archive {
		t.Errorf("another program gives %s, %v; want another archive", again, err)
	}
	program.Entrypoint = []string{"./train", "--fast"}
	if again, err := store.Program(t.Context(), program); err != nil || again == archive {
		t.Errorf("another entrypoint gives %s, %v; want another archive", again, err)
	}
}
