// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNewLayout(t *testing.T) {
	cases := map[string]struct {
		state   string
		want    string
		wantErr string
	}{
		"the default state gives the default name": {
			state: "/var/lib/milepost",
			want:  "milepost",
		},
		"a second cluster is told apart by its folder": {
			state: "/srv/milepost-two",
			want:  "milepost-two",
		},
		"a name that others use for their cgroups is made our own": {
			state: "/var/lib/docker",
			want:  "milepost-docker",
		},
		"a relative folder is refused, daemons have no working folder": {
			state:   "state",
			wantErr: "must be an absolute path",
		},
		"a folder at the top is refused, it would be removed": {
			state:   "/home",
			wantErr: "must be an absolute path",
		},
		"a name that is no host name is refused": {
			state:   "/srv/my cluster",
			wantErr: "letters, digits and dashes",
		},
		"a path too long for a socket is refused": {
			state:   "/" + strings.Repeat("a/", 40),
			wantErr: "longer than",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := newLayout(tc.state)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("want an error with %q, got %v", tc.wantErr, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.name != tc.want {
				t.Errorf("want name %s, got %s", tc.want, got.name)
			}
		})
	}
}

func TestCommandLine(t *testing.T) {
	l := layout{name: "milepost", state: "/state"}
	cases := map[string]struct {
		component component
		nodePID   int
		want      []string
	}{
		"a control plane component joins the network only": {
			component: component{name: etcd, args: []string{"--a"}},
			want:      []string{"nsenter", "--net=/run/netns/milepost", "--", "/programs/etcd", "--a"},
		},
		"the first node component makes the node's mounts": {
			component: component{name: containerd, node: true, args: []string{"--b"}},
			want: []string{
				"nsenter", "--net=/run/netns/milepost", "--", "unshare", "--mount", "--propagation", "private", "--",
				"sh", "-ec",
				"mount --bind '/state/run/containerd' '/run/containerd'; " +
					"mount --bind '/state/kubelet' '/var/lib/kubelet'; " +
					"mount --bind '/state/log/containers' '/var/log/containers'; " +
					"mount --bind '/state/log/pods' '/var/log/pods'; " +
					`mount --make-rshared /; exec "$@"`,
				"sh", "/programs/containerd", "--b",
			},
		},
		"the next node component joins them": {
			component: component{name: kubelet, node: true},
			nodePID:   77,
			want:      []string{"nsenter", "--net=/run/netns/milepost", "--mount=/proc/77/ns/mnt", "--", "/programs/kubelet"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := l.commandLine("/programs", tc.component, tc.nodePID)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("command line (-want +got):\n%s", diff)
			}
		})
	}
}
