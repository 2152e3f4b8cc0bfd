// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRequiredVersion(t *testing.T) {
	cases := map[string]struct {
		gomod, module string
		want          string
		wantErr       string
	}{
		"a direct requirement gives its version": {
			gomod:  "module m\nrequire k8s.io/kubernetes v1.37.2\n",
			module: "k8s.io/kubernetes",
			want:   "v1.37.2",
		},
		"an indirect requirement counts, as tools are indirect": {
			gomod:  "module m\nrequire (\n\ta.example/b v0.1.0\n\thelm.sh/helm/v4 v4.3.1 // indirect\n)\n",
			module: "helm.sh/helm/v4",
			want:   "v4.3.1",
		},
		"a module with the wanted path as prefix is another module": {
			gomod:   "module m\nrequire helm.sh/helm/v4/extra v1.0.0\n",
			module:  "helm.sh/helm/v4",
			wantErr: "does not require helm.sh/helm/v4",
		},
		"a broken go.mod is an error": {
			gomod:   "require {",
			module:  "k8s.io/kubernetes",
			wantErr: "parsing go.mod",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := requiredVersion([]byte(tc.gomod), tc.module)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("want an error with %q, got %v", tc.wantErr, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("want %s, got %s", tc.want, got)
			}
		})
	}
}

func TestLinkerFlags(t *testing.T) {
	cases := map[string]struct {
		program Program
		version string
		want    string
	}{
		"a program without version variables is only stripped": {
			version: "v3.7.0",
			want:    "-s -w",
		},
		"each variable receives its part of the version": {
			program: Program{VersionVars: []VersionVar{{"p.whole", Whole}, {"p.major", Major}, {"p.minor", Minor}}},
			version: "v1.37.2",
			want:    "-s -w -X p.whole=v1.37.2 -X p.major=1 -X p.minor=37",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, linkerFlags(tc.program, tc.version)); diff != "" {
				t.Errorf("flags (-want +got):\n%s", diff)
			}
		})
	}
}
