// SPDX-License-Identifier: Apache-2.0

package frameworks_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/milepost-dev/milepost/magefiles/internal/frameworks"
)

const right = `
environments:
  - {name: light, requirements: [light.txt], tests: [test_light.py]}
  - {name: stone, requirements: [light.txt], tests: [test_light.py], heavy: true}
`

// folder makes a folder with a table and the files that it names.
func folder(t *testing.T, table string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{frameworks.Table: table, "light.txt": "", "test_light.py": ""} {
		write(t, filepath.Join(dir, name), text)
	}
	return dir
}

// read reads a table and picks from it.
func read(t *testing.T, table, only string) ([]frameworks.Environment, error) {
	t.Helper()
	all, err := frameworks.Read(folder(t, table))
	if err != nil {
		return nil, err
	}
	return frameworks.Select(all, only)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSelectPicks(t *testing.T) {
	for name, tc := range map[string]struct{ only, want string }{
		"all that are not heavy": {"", "light"},
		"a heavy one by name":    {"stone", "stone"},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := read(t, right, tc.only)
			if err != nil || len(list) != 1 || list[0].Name != tc.want {
				t.Errorf("got %+v, %v; want %s alone", list, err, tc.want)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ table, only, want string }{
		"a name that is not there":       {right, "paper", "there are: light, stone"},
		"requirements that do not exist": {strings.ReplaceAll(right, "light.txt", "gone.txt"), "", "gone.txt"},
		"tests that do not exist":        {strings.ReplaceAll(right, "test_light.py", "test_gone.py"), "", "test_gone.py"},
		"no tests":                       {strings.ReplaceAll(right, "tests: [test_light.py]", "tests: []"), "", "needs a name"},
		"a word that nobody knows":       {strings.Replace(right, "heavy", "weighty", 1), "", "weighty"},
		"a base that does not exist":     {strings.Replace(right, "name: light", "name: light, base: gone.txt", 1), "", "gone.txt"},
		"a name that is a path":          {strings.Replace(right, "name: light", "name: ../light", 1), "", "needs a name"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := read(t, tc.table, tc.only); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// fakePython makes an interpreter that only notes what it is asked. Its pip fails as often as told.
func fakePython(t *testing.T, failures string) (store frameworks.Store, calls func() string) {
	t.Helper()
	dir := t.TempDir()
	script := `#!/bin/sh
echo "$@" >>` + dir + `/calls
case "$*" in
*"-m venv"*) mkdir -p "$4/bin" && cp "$0" "$4/bin/python";;
*"-m pip"*) [ "$(grep -c -- '-m pip' ` + dir + `/calls)" -gt ` + failures + ` ];;
*sys.version\)) echo 3.99;;
*purelib*) dirname "$0";;
esac
`
	python := filepath.Join(dir, "python")
	if err := os.WriteFile(python, []byte(script), 0o700); err != nil { //nolint:gosec // it has to run
		t.Fatal(err)
	}
	return frameworks.Store{Dir: filepath.Join(dir, "kept"), Python: python}, func() string {
		text, err := os.ReadFile(filepath.Join(dir, "calls"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

func TestAnEnvironmentIsMadeOnceWithAFakePython(t *testing.T) {
	store, calls := fakePython(t, "0")
	file := filepath.Join(t.TempDir(), "x.txt")
	write(t, file, "tqdm==1\n")
	get := func() string {
		t.Helper()
		python, err := store.Environment(t.Context(), "x", file)
		if err != nil {
			t.Fatal(err)
		}
		return python
	}
	first := get()
	if again := get(); again != first || strings.Count(calls(), "-m venv") != 1 || strings.Count(calls(), "--requirement "+file) != 1 {
		t.Errorf("a second look gave %s behind %s, with the calls:\n%s", again, first, calls())
	}
	write(t, file, "tqdm==2\n")
	if other := get(); other == first {
		t.Error("other requirements gave the same environment")
	}
}

func TestEnvironmentsShareABaseWithAFakePython(t *testing.T) {
	store, calls := fakePython(t, "0")
	dir := t.TempDir()
	base, file := filepath.Join(dir, "stone.txt"), filepath.Join(dir, "x.txt")
	write(t, base, "stone==1\n")
	write(t, file, "tqdm==1\n")
	get := func(name string) (named string) {
		t.Helper()
		python, err := store.Above(t.Context(), base, name, file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(filepath.Dir(python), "milepost-base.pth"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := get("x")
	if second := get("y"); second != first || !strings.HasPrefix(first, filepath.Join(store.Dir, "stone-")) {
		t.Errorf("x finds more packages in %q, y in %q, want one folder of stone", first, second)
	}
	if strings.Count(calls(), "--requirement "+base) != 1 {
		t.Errorf("the base is not installed once, with the calls:\n%s", calls())
	}
	write(t, base, "stone==2\n")
	if other := get("x"); other == first {
		t.Error("another base gave the same packages")
	}
}

func TestTwoAtOnceMakeAnEnvironmentOnceWithAFakePython(t *testing.T) {
	store, calls := fakePython(t, "0")
	file := filepath.Join(t.TempDir(), "x.txt")
	write(t, file, "tqdm==1\n")
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if _, err := store.Environment(t.Context(), "x", file); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if strings.Count(calls(), "-m venv") != 1 {
		t.Errorf("made more than once, with the calls:\n%s", calls())
	}
}

func TestHiccupsOfARegistryAreTriedAgainWithAFakePython(t *testing.T) {
	for name, tc := range map[string]struct {
		failures  string
		wantError bool
	}{
		"two are a hiccup":    {"2", false},
		"three are a refusal": {"3", true},
	} {
		t.Run(name, func(t *testing.T) {
			store, calls := fakePython(t, tc.failures)
			file := filepath.Join(t.TempDir(), "x.txt")
			write(t, file, "")
			if _, err := store.Environment(t.Context(), "x", file); (err != nil) != tc.wantError {
				t.Errorf("got %v, want an error: %v\n%s", err, tc.wantError, calls())
			}
			if !tc.wantError {
				return
			}
			if _, err := store.Environment(t.Context(), "x", file); err != nil || strings.Count(calls(), "-m venv --clear") != 2 {
				t.Errorf("after a refusal: %v, with the calls:\n%s", err, calls())
			}
		})
	}
}

func TestMissingNamesTheInterpreter(t *testing.T) {
	store := frameworks.Store{Python: filepath.Join(t.TempDir(), "no-python")}
	if got := store.Missing(t.Context()); !strings.Contains(got, "no-python of version 3.9 or newer is not installed") {
		t.Errorf("missing = %q", got)
	}
}
