// SPDX-License-Identifier: Apache-2.0

package languages_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/milepost-dev/milepost/magefiles/internal/languages"
)

const right = `
language: klingon
tools: [[sh, -c, "true"]]
verbs: {lint: [[sh, -c, "true"]], test: [[echo, 3 passed in 0.1s]], package: [[touch, made]]}
count: pytest
install: {artifact: made*, programs: [[sh, program]]}
`

// folder makes a folder of languages, each with the text of its language.yaml.
func folder(t *testing.T, texts ...string) string {
	t.Helper()
	top := t.TempDir()
	for i, text := range texts {
		dir := filepath.Join(top, string(rune('a'+i)))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "language.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return top
}

func TestReadRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"a language without a verb":          {strings.Replace(right, "lint:", "linting:", 1), "the verb lint is missing"},
		"a way to count that nobody knows":   {strings.Replace(right, "pytest", "fingers", 1), `count is "fingers"`},
		"a language that nobody can install": {strings.Replace(right, "programs: [[sh, program]]", "", 1), "no program"},
		"a file that is no YAML":             {"language: [", "language.yaml"},
		"a language that is not among them":  {strings.Replace(right, "klingon", "french", 1), "there are: french"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := languages.Read(folder(t, tc.text), "klingon")
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestVerbsRunInTheFolderOfTheLanguage(t *testing.T) {
	top := folder(t, right, strings.Replace(right, "klingon", "french", 1))
	list, err := languages.Read(top, "french")
	if err != nil || len(list) != 1 {
		t.Fatalf("got %d languages, %v", len(list), err)
	}
	if err := list[0].Do(t.Context(), "package"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(top, "b", "made")); err != nil {
		t.Error(err)
	}
	if got := list[0].Test(t.Context()).Line(); got != "3 passed, 0 failed, 0 skipped" {
		t.Errorf("counted %s", got)
	}
}

func TestFailedCommandCountsAsFailure(t *testing.T) {
	top := folder(t, strings.Replace(right, "[[echo, 3 passed in 0.1s]]", `[[sh, -c, "echo no compiler; exit 1"]]`, 1))
	list, err := languages.Read(top, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := list[0].Test(t.Context()).Line(); got != "0 passed, 1 failed, 0 skipped" {
		t.Errorf("counted %s", got)
	}
}

func TestMissingNamesTheTool(t *testing.T) {
	top := folder(t, strings.Replace(right, `[[sh, -c, "true"]]`, "[[no-such-compiler, --version]]", 1))
	list, err := languages.Read(top, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := list[0].Missing(t.Context()); got != "no-such-compiler --version does not work" {
		t.Errorf("missing %q", got)
	}
	whole, err := languages.Read(folder(t, right), "")
	if err != nil {
		t.Fatal(err)
	}
	if got := whole[0].Missing(t.Context()); got != "" {
		t.Errorf("missing %q, want nothing", got)
	}
}
