// SPDX-License-Identifier: Apache-2.0

package testcount_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/milepost-dev/milepost/magefiles/internal/run"
	"github.com/milepost-dev/milepost/magefiles/internal/testcount"
)

func TestGoTest(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module example.test/m\n\ngo 1.26.0\n",
		"p_test.go":   "//go:build extra\n\npackage p\n\nimport \"testing\"\n\nfunc TestExtra(t *testing.T) {}\n",
		"plain.go":    "package p\n",
		"bad_test.go": "//go:build bad\n\npackage p\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) { t.Fatal() }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		flags, packages []string
		want            string
		wantErr         bool
		wantText        string
	}{
		"flags reach go test": {
			flags: []string{"-tags=extra"}, packages: []string{"./..."},
			want: "1 passed, 0 failed, 0 skipped", wantText: "[1/1] ok",
		},
		"a failed test is counted and is no error of the run": {
			flags: []string{"-tags=extra,bad"}, packages: []string{"./..."},
			want: "1 passed, 1 failed, 0 skipped", wantText: "FAIL",
		},
		"a package that is not there is an error or a failure": {
			packages: []string{"./nowhere"},
			want:     "0 passed, 1 failed, 0 skipped",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out, complaints bytes.Buffer
			cmd := run.Cmd{Dir: dir, Env: []string{"GOWORK=off"}, Stderr: &complaints}
			got, err := testcount.GoTest(t.Context(), cmd, testcount.Options{Out: &out}, tc.flags, tc.packages)
			if (err != nil) != tc.wantErr || got.Line() != tc.want {
				t.Errorf("GoTest = %q, %v, want %q; output:\n%s%s", got.Line(), err, tc.want, &out, &complaints)
			}
			if !strings.Contains(out.String(), tc.wantText) {
				t.Errorf("output = %q, want it to contain %q", out.String(), tc.wantText)
			}
		})
	}
}
