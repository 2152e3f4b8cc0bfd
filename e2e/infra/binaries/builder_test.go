// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryProgramIsPinnedAsATool(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			program, err := Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			gomod, err := os.ReadFile(filepath.Join("modules", program.Folder, "go.mod"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := requiredVersion(gomod, program.Module); err != nil {
				t.Error(err)
			}
			if !declaresTool(string(gomod), program.Package) {
				t.Errorf("%s has no tool line for %s, so `go mod tidy` would drop what it needs", program.Folder, program.Package)
			}
		})
	}
}

func declaresTool(gomod, pkg string) bool {
	for line := range strings.Lines(gomod) {
		if strings.TrimSpace(strings.TrimPrefix(line, "tool ")) == pkg {
			return true
		}
	}
	return false
}

func TestLookupNamesTheKnownPrograms(t *testing.T) {
	_, err := Lookup("kubelt")
	if err == nil || !strings.Contains(err.Error(), "kubelet") {
		t.Errorf("want an error that lists kubelet, got %v", err)
	}
}

func TestAMissingCompilerIsNamedBeforeAnythingIsBuilt(t *testing.T) {
	err := checkToolchain("runc", func(tool string) (string, error) {
		if tool == "gcc" {
			return "", exec.ErrNotFound
		}
		return "/usr/bin/" + tool, nil
	})
	if err == nil || !strings.Contains(err.Error(), "apt-get install -y gcc") {
		t.Errorf("want an error that says what to install, got %v", err)
	}
}

func TestFolderName(t *testing.T) {
	cases := map[string]struct {
		paths []string
		want  string
	}{
		"programs of one version name it once": {
			paths: []string{"/c/bin/kubectl-v1.37.2/kubectl", "/c/bin/kube-apiserver-v1.37.2/kube-apiserver"},
			want:  "envtest-v1.37.2",
		},
		"each version is part of the name": {
			paths: []string{"/c/bin/kubectl-v1.37.2/kubectl", "/c/bin/etcd-v3.7.0/etcd"},
			want:  "envtest-v1.37.2-v3.7.0",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, folderName("envtest", tc.paths)); diff != "" {
				t.Errorf("name (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindModules(t *testing.T) {
	root := t.TempDir()
	modules := filepath.Join(root, modulesPath)
	deep := filepath.Join(root, "controller", "internal")
	for _, dir := range []string{modules, deep} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	got, err := findModules(deep)
	if err != nil || got != modules {
		t.Errorf("want %s from a folder inside the repository, got %q and %v", modules, got, err)
	}
	if got, err := findModules(filepath.Dir(root)); err == nil {
		t.Errorf("want an error outside the repository, got %s", got)
	}
}

// newTinyBuilder returns a Builder whose module for ctr is a program of one
// line without dependencies, so that real builds stay fast.
func newTinyBuilder(t *testing.T, progress io.Writer) *Builder {
	t.Helper()
	program, err := Lookup("ctr")
	if err != nil {
		t.Fatal(err)
	}
	modules := t.TempDir()
	write := func(path, content string) {
		t.Helper()
		path = filepath.Join(modules, program.Folder, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module pinned\ngo 1.26.0\nrequire "+program.Module+" v2.0.1\nreplace "+program.Module+" => ./source\n")
	write("source/go.mod", "module "+program.Module+"\ngo 1.26.0\n")
	write("source/version/version.go", "package version\nvar Version string\n")
	write("source/cmd/ctr/main.go", "package main\nimport \""+program.Module+"/version\"\nfunc main() { println(version.Version) }\n")
	return &Builder{cache: t.TempDir(), modules: modules, progress: progress}
}

func TestPathBuildsOnceAndStampsTheVersion(t *testing.T) {
	var progress lockedBuffer
	builder := newTinyBuilder(t, &progress)
	var group sync.WaitGroup
	paths := make([]string, 3)
	for i := range paths {
		group.Go(func() {
			path, err := builder.Path(t.Context(), "ctr")
			if err != nil {
				t.Error(err)
			}
			paths[i] = path
		})
	}
	group.Wait()
	want := filepath.Join(builder.cache, "bin", "ctr-v2.0.1", "ctr")
	for _, path := range paths {
		if path != want {
			t.Errorf("want %s, got %s", want, path)
		}
	}
	if built := strings.Count(progress.String(), "built ctr v2.0.1"); built != 1 {
		t.Errorf("want one build for three callers at a time, got %d:\n%s", built, progress.String())
	}
	output, err := exec.Command(want).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(output)); got != "v2.0.1" {
		t.Errorf("want the program to know its version v2.0.1, got %q", got)
	}
}

func TestPathLeavesNothingBehindAfterABrokenBuild(t *testing.T) {
	builder := newTinyBuilder(t, io.Discard)
	source := filepath.Join(builder.modules, "containerd", "source", "cmd", "ctr", "main.go")
	if err := os.WriteFile(source, []byte("package main\nfunc main() { undefined() }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := builder.Path(t.Context(), "ctr")
	if err == nil || !strings.Contains(err.Error(), "building ctr v2.0.1") {
		t.Errorf("want an error that names the program, got %v", err)
	}
	entries, err := os.ReadDir(filepath.Join(builder.cache, "bin", "ctr-v2.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Name() != ".lock" {
			t.Errorf("left behind: %s", entry.Name())
		}
	}
}

func TestFolderLinksProgramsSideBySide(t *testing.T) {
	builder := newTinyBuilder(t, io.Discard)
	for range 2 { // the second call finds the links of the first
		dir, err := builder.Folder(t.Context(), "tools", "ctr")
		if err != nil {
			t.Fatal(err)
		}
		if err := exec.Command(filepath.Join(dir, "ctr")).Run(); err != nil {
			t.Errorf("running through the link: %v", err)
		}
	}
}

// lockedBuffer takes writes of several builds at once.
type lockedBuffer struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.buffer.Write(data)
}

func (b *lockedBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.buffer.String()
}
