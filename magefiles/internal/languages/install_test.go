// SPDX-License-Identifier: Apache-2.0

package languages_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/milepost-dev/milepost/magefiles/internal/languages"
)

// fakeMilepost runs the command behind -- and takes what it prints for the accepted reports.
const fakeMilepost = `#!/bin/sh
while [ "$1" != -- ]; do
	[ "$1" = --history ] && history=$2
	shift
done
shift
exec "$@" >"$history"
`

func TestInstallWithFakeMilepost(t *testing.T) {
	const complete = `{"trainerStatus":{"progressPercentage":100,"metrics":[{"name":"language","value":"klingon"}]}}`
	for name, tc := range map[string]struct {
		program string
		steps   string
		pack    string
		want    string
	}{
		"a program that reports": {
			program: "echo '{}'\necho '" + complete + "'", want: "1 passed, 0 failed, 0 skipped",
		},
		"a package that gets to its program": {
			steps: `[[cp, "{artifact}", copy]]`, pack: "[[sh, -c, \"echo '" + strings.ReplaceAll(complete, `"`, `\"`) + "' >made.1\"]]",
			program: "cat copy", want: "1 passed, 0 failed, 0 skipped",
		},
		"a program that reports nothing":          {program: "true", want: "0 passed, 1 failed, 0 skipped"},
		"a program that is of another language":   {program: "echo '" + strings.Replace(complete, "klingon", "french", 1) + "'", want: "0 passed, 1 failed, 0 skipped"},
		"a program that does not complete":        {program: "echo '" + strings.Replace(complete, "100", "99", 1) + "'", want: "0 passed, 1 failed, 0 skipped"},
		"a program that completes, and goes back": {program: "echo '" + complete + "'; echo '{}'", want: "0 passed, 1 failed, 0 skipped"},
		"a program that fails":                    {program: "echo '" + complete + "'; exit 3", want: "0 passed, 1 failed, 0 skipped"},
		"a package that cannot be installed":      {steps: `[[sh, -c, "exit 1"]]`, want: "0 passed, 1 failed, 0 skipped"},
		"a package that is not made":              {pack: `[["true"]]`, want: "0 passed, 1 failed, 0 skipped"},
		"a package that is made twice":            {pack: `[[touch, made, made2]]`, want: "0 passed, 1 failed, 0 skipped"},
	} {
		t.Run(name, func(t *testing.T) {
			text := right
			if tc.pack != "" {
				text = strings.Replace(text, "[[touch, made]]", tc.pack, 1)
			}
			if tc.steps != "" {
				text = strings.Replace(text, "programs:", "steps: "+tc.steps+", programs:", 1)
			}
			top := folder(t, text)
			write(t, filepath.Join(top, "a", "made.0"), "of another version")
			write(t, filepath.Join(top, "a", "install", "program"), tc.program)
			write(t, filepath.Join(top, "milepost"), fakeMilepost)
			list, err := languages.Read(top, "")
			if err != nil {
				t.Fatal(err)
			}
			installer := languages.Installer{Milepost: filepath.Join(top, "milepost"), Cache: top}
			if got := installer.Install(t.Context(), list[0]).Line(); got != tc.want {
				t.Errorf("counted %s, want %s", got, tc.want)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}
