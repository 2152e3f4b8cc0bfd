// SPDX-License-Identifier: Apache-2.0

package worksync_test

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/milepost-dev/milepost/magefiles/internal/worksync"
)

func write(t *testing.T, root string, files map[string]string) (names []string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// serveLib makes the go command find example.test/lib at two versions, and nothing else.
func serveLib(t *testing.T) {
	t.Helper()
	const goMod = "module example.test/lib\n\ngo 1.26.0\n"
	proxy, files := t.TempDir(), map[string]string{}
	for _, version := range []string{"v1.0.0", "v1.1.0"} {
		var archive bytes.Buffer
		w := zip.NewWriter(&archive)
		for name, text := range map[string]string{"go.mod": goMod, "lib.go": "package lib\n"} {
			part, err := w.Create("example.test/lib@" + version + "/" + name)
			if err == nil {
				_, err = part.Write([]byte(text))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		base := "example.test/lib/@v/" + version
		files[base+".info"], files[base+".mod"], files[base+".zip"] = `{"Version":"`+version+`"}`, goMod, archive.String()
	}
	write(t, proxy, files)
	t.Setenv("GOPROXY", "file://"+filepath.ToSlash(proxy))
	t.Setenv("GOSUMDB", "off")
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOFLAGS", "-modcacherw")
}

func TestCheck(t *testing.T) {
	serveLib(t)
	cases := map[string]struct {
		version, wantErr string
	}{
		"modules that agree":                 {version: "v1.1.0"},
		"a module that is behind the others": {version: "v1.0.0", wantErr: "a/go.mod is behind the workspace"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			names := write(t, root, map[string]string{
				"go.work":   "go 1.26.0\n\nuse (\n\t./a\n\t./b\n)\n",
				"a/go.mod":  "module example.test/a\n\ngo 1.26.0\n\nrequire example.test/lib " + tc.version + "\n",
				"a/a.go":    "package a\n\nimport _ \"example.test/lib\"\n",
				"b/go.mod":  "module example.test/b\n\ngo 1.26.0\n\nrequire example.test/lib v1.1.0\n",
				"b/b.go":    "package b\n\nimport _ \"example.test/lib\"\n",
				"README.md": "not needed\n",
			})
			before, _ := os.ReadFile(filepath.Join(root, "a/go.mod"))
			err := worksync.Check(t.Context(), root, append(names, "deleted/go.mod"))
			if (err == nil) != (tc.wantErr == "") || (err != nil && !strings.Contains(err.Error(), tc.wantErr)) {
				t.Errorf("Check = %v, want %q", err, tc.wantErr)
			}
			if after, _ := os.ReadFile(filepath.Join(root, "a/go.mod")); !bytes.Equal(after, before) {
				t.Error("Check changed the repository")
			}
		})
	}
}
