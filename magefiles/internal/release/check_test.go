// SPDX-License-Identifier: Apache-2.0

package release_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/milepost-dev/milepost/magefiles/internal/release"
)

func TestCheck(t *testing.T) {
	fine := map[string]string{
		"charts/milepost/Chart.yaml":           "version: 1.2.3\nappVersion: 1.2.3\n",
		"CHANGELOG.md":                         "# Changelog\n\n## Unreleased\n\n## 1.2.2\n",
		"openapi/report/v1alpha1/openapi.yaml": "info: {version: 1.0.0}\n",
		"openapi/CHANGELOG.md":                 "## 1.0.0\n",
	}
	cases := map[string]struct {
		change  map[string]string
		tag     string
		wantErr string
	}{
		"everything agrees": {},
		"a release has its section": {
			change: map[string]string{"CHANGELOG.md": "## [1.2.3] - today\n"}, tag: "v1.2.3",
		},
		"a release without its section": {tag: "v1.2.3", wantErr: `CHANGELOG.md: no section "## 1.2.3"`},
		"a tag of another version":      {tag: "v1.3.0", wantErr: "tagged v1.3.0"},
		"a changelog without what comes next": {
			change: map[string]string{"CHANGELOG.md": "## 1.2.2\n"}, wantErr: `no section "## Unreleased"`,
		},
		"a chart for another image": {
			change:  map[string]string{"charts/milepost/Chart.yaml": "version: 1.2.3\nappVersion: 1.2.2\n"},
			wantErr: `appVersion "1.2.2" and version "1.2.3" differ`,
		},
		"a version that is none": {
			change:  map[string]string{"charts/milepost/Chart.yaml": "version: soon\nappVersion: soon\n"},
			wantErr: `version "soon" is not of the form`,
		},
		"a report API that nobody explained": {
			change:  map[string]string{"openapi/CHANGELOG.md": "## 0.9.0\n"},
			wantErr: `openapi/CHANGELOG.md: no section "## 1.0.0"`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			root, files := t.TempDir(), maps.Clone(fine)
			maps.Copy(files, tc.change)
			for file, text := range files {
				path := filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := release.Check(root, tc.tag)
			if (err == nil) != (tc.wantErr == "") || (err != nil && !strings.Contains(err.Error(), tc.wantErr)) {
				t.Errorf("Check = %v, want %q", err, tc.wantErr)
			}
		})
	}
}
