// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestCheckMachine(t *testing.T) {
	cases := map[string]struct {
		system  string
		user    int
		missing []string
		want    string
	}{
		"root on Linux with all programs may go on": {
			system: "linux",
		},
		"another system is named": {
			system: "darwin",
			want:   "this is darwin",
		},
		"a user without privileges is told how to get them": {
			system: "linux",
			user:   1000,
			want:   "run this again as root",
		},
		"missing programs are named as packages, each once": {
			system:  "linux",
			missing: []string{"nft", "nsenter", "unshare"},
			want:    "apt-get install -y nftables util-linux",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			look := func(program string) (string, error) {
				if slices.Contains(tc.missing, program) {
					return "", errors.New("not found")
				}
				return "/usr/bin/" + program, nil
			}
			err := checkMachine(tc.system, tc.user, look)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("want no error, got %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n")):
				t.Errorf("want one line with %q, got %v", tc.want, err)
			}
		})
	}
}
