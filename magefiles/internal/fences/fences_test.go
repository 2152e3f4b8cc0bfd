// SPDX-License-Identifier: Apache-2.0

package fences_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/milepost-dev/milepost/magefiles/internal/fences"
)

// fakeLinter is a script that prints a fixed report; the real linter runs in `mage lint:fences`.
func fakeLinter(t *testing.T, report string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "linter")
	if err := os.WriteFile(path, []byte("#!/bin/sh\ncat <<'END'\n"+report+"\nEND\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCheckWithAFakeLinter(t *testing.T) {
	probes := []fences.Probe{
		{Package: "controller/internal/latest", Imports: "./controller/internal/intake", Refused: true},
		{Package: "controller/internal/latest", Imports: "./controller/internal/report"},
	}
	issue := func(linter, file string) string {
		return `{"FromLinter":"` + linter + `","Text":"says no","Pos":{"Filename":"x/` + file + `"}}`
	}
	cases := map[string]struct {
		issues  []string
		wantErr string
	}{
		"the fences hold":                    {issues: []string{issue("depguard", "probe000.go")}},
		"a hole is found":                    {wantErr: "controller/internal/latest may import ./controller/internal/intake"},
		"a fence that is too tight":          {issues: []string{issue("depguard", "probe000.go"), issue("depguard", "probe001.go")}, wantErr: "may not import ./controller/internal/report"},
		"a linter that stumbles is no proof": {issues: []string{issue("typecheck", "probe000.go")}, wantErr: "could not judge"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			linter := fakeLinter(t, `{"Issues":[`+strings.Join(tc.issues, ",")+`]}`)
			err := fences.Check(t.Context(), linter, ".golangci.yml", probes)
			if (err == nil) != (tc.wantErr == "") || (err != nil && !strings.Contains(err.Error(), tc.wantErr)) {
				t.Errorf("Check = %v, want %q", err, tc.wantErr)
			}
		})
	}
}

func TestEveryPackageOfTheTableIsProbedBothWays(t *testing.T) {
	seen := map[string][2]int{}
	for _, probe := range fences.Probes() {
		counts := seen[probe.Package]
		if probe.Refused {
			counts[0]++
		} else {
			counts[1]++
		}
		seen[probe.Package] = counts
	}
	for pkg, counts := range seen {
		if counts[0] == 0 || counts[1] == 0 {
			t.Errorf("%s has %d refused and %d allowed imports, want some of each", pkg, counts[0], counts[1])
		}
	}
}
