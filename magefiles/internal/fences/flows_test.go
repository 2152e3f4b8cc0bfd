// SPDX-License-Identifier: Apache-2.0

package fences_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/milepost-dev/milepost/magefiles/internal/fences"
)

func TestCheckFlows(t *testing.T) {
	const internal = "controller/internal/"
	imports := func(name string) string {
		return "package p\n\nimport _ \"github.com/milepost-dev/milepost/" + internal + name + "\"\n"
	}
	cases := map[string]struct {
		files   map[string]string
		wantErr string
	}{
		"flows that share only their leaf are apart": {files: map[string]string{
			"trainjob/a.go": imports("reportlink"), "intake/a.go": imports("reportlink"), "reportlink/a.go": "package p\n",
		}},
		"a job package that reaches the report flow through a third one": {
			files: map[string]string{
				"trainjob/a.go": imports("helper"), "helper/a.go": imports("latest"), "latest/a.go": "package p\n",
			},
			wantErr: "trainjob depends on github.com/milepost-dev/milepost/controller/internal/latest",
		},
		"a report package that knows how jobs are built": {
			files: map[string]string{
				"statuswriter/a.go": imports("mlpolicy/torch"), "mlpolicy/torch/a.go": "package p\n",
			},
			wantErr: "statuswriter depends on github.com/milepost-dev/milepost/controller/internal/mlpolicy/torch",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOWORK", "off")
			root := t.TempDir()
			tc.files["../../go.mod"] = "module github.com/milepost-dev/milepost\n\ngo 1.26.0\n"
			for file, text := range tc.files {
				path := filepath.Join(root, internal, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := fences.CheckFlows(t.Context(), root)
			if (err == nil) != (tc.wantErr == "") || (err != nil && !strings.Contains(err.Error(), tc.wantErr)) {
				t.Errorf("CheckFlows = %v, want %q", err, tc.wantErr)
			}
		})
	}
}
