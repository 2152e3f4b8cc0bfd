// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/milepost-dev/milepost/e2e/infra/images"
)

func TestParseFolders(t *testing.T) {
	cases := map[string]struct {
		values  []string
		want    []images.Folder
		wantErr string
	}{
		"each value is a folder and a path": {
			values: []string{"./code:/app", "data:/data/set"},
			want:   []images.Folder{{Source: "./code", Target: "/app"}, {Source: "data", Target: "/data/set"}},
		},
		"a folder's name may hold a colon": {
			values: []string{"a:b:/app"},
			want:   []images.Folder{{Source: "a:b", Target: "/app"}},
		},
		"a relative path in the image is refused": {
			values:  []string{"code:app"},
			wantErr: `"code:app" is not of the form FOLDER:/PATH`,
		},
		"a value without a path is refused": {
			values:  []string{"code"},
			wantErr: "not of the form",
		},
		"a value without a folder is refused": {
			values:  []string{":/app"},
			wantErr: "not of the form",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parseFolders(tc.values)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("want an error with %q, got %v", tc.wantErr, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("folders (-want +got):\n%s", diff)
			}
		})
	}
}
