// SPDX-License-Identifier: Apache-2.0

package house_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/milepost-dev/milepost/magefiles/internal/house"
)

func TestCheck(t *testing.T) {
	const spdx = "SPDX-License-Identifier: Apache-2.0\n"
	cases := map[string]struct {
		name, text string
		generated  bool
		wantErr    string
	}{
		"a Go file with its header":                {name: "a.go", text: "// " + spdx + "\npackage a\n"},
		"a Go file without header":                 {name: "a.go", text: "package a\n", wantErr: "a.go: the first lines lack"},
		"a header too far down":                    {name: "a.py", text: "\n\n\n# " + spdx, wantErr: "a.py: the first lines lack"},
		"a script states it below its first line":  {name: "run", text: "#!/bin/bash\n# " + spdx},
		"a script without header":                  {name: "run", text: "#!/bin/bash\n", wantErr: "run: the first lines lack"},
		"a generated file answers to no one":       {name: "a.go", text: "package a\n", generated: true},
		"a document needs none":                    {name: "README.md", text: "# Title\n"},
		"an empty file needs none":                 {name: "__init__.py"},
		"a Go file of 500 lines":                   {name: "a.go", text: "// " + spdx + strings.Repeat("\n", 499)},
		"a Go file of 501 lines":                   {name: "a.go", text: "// " + spdx + strings.Repeat("\n", 500), wantErr: "a.go: 501 lines"},
		"another language may have a longer table": {name: "a.yaml", text: "# " + spdx + strings.Repeat("\n", 900)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.WriteFile(filepath.Join(root, tc.name), []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			var generated []string
			if tc.generated {
				generated = append(generated, tc.name)
			}
			err := house.Check(root, []string{tc.name, "deleted.go"}, generated)
			if (err == nil) != (tc.wantErr == "") || (err != nil && !strings.Contains(err.Error(), tc.wantErr)) {
				t.Errorf("Check = %v, want %q", err, tc.wantErr)
			}
		})
	}
}
