// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseMounts(t *testing.T) {
	cases := map[string]struct {
		content string
		want    []mount
	}{
		"a line without optional fields": {
			content: "36 35 98:0 / / rw,noatime - ext4 /dev/vda rw,errors=continue\n",
			want:    []mount{{point: "/", kind: "ext4", source: "/dev/vda", options: []string{"rw", "errors=continue"}}},
		},
		"any number of optional fields may stand before the dash": {
			content: "24 19 0:21 / /sys/fs/cgroup/cpu rw shared:6 master:1 - cgroup cgroup rw,cpu\n",
			want:    []mount{{point: "/sys/fs/cgroup/cpu", kind: "cgroup", source: "cgroup", options: []string{"rw", "cpu"}}},
		},
		"a space in a path is written in octal": {
			content: `40 24 0:4 net:[4026532] /run/my\040net rw - nsfs nsfs rw`,
			want:    []mount{{point: "/run/my net", kind: "nsfs", source: "nsfs", options: []string{"rw"}}},
		},
		"a line cut short is left out": {
			content: "36 35 98:0 / / rw\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, parseMounts(tc.content), cmp.AllowUnexported(mount{})); diff != "" {
				t.Errorf("mounts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBelow(t *testing.T) {
	mounts := []mount{
		{point: "/"},
		{point: "/var/lib/milepost"},
		{point: "/var/lib/milepost/a"},
		{point: "/var/lib/milepost-other"},
		{point: "/var/lib/milepost/a/b"},
	}
	want := []string{"/var/lib/milepost/a/b", "/var/lib/milepost/a", "/var/lib/milepost"}
	if diff := cmp.Diff(want, below(mounts, "/var/lib/milepost")); diff != "" {
		t.Errorf("mount points, innermost first (-want +got):\n%s", diff)
	}
}

func TestSnapshotterFor(t *testing.T) {
	cases := map[string]struct {
		mounts []mount
		want   string
	}{
		"a disk takes overlays": {
			mounts: []mount{{point: "/", kind: "ext4"}},
			want:   "overlayfs",
		},
		"an overlay takes no further overlay": {
			mounts: []mount{{point: "/", kind: "overlay"}},
			want:   "native",
		},
		"the innermost mount counts": {
			mounts: []mount{{point: "/var/lib", kind: "xfs"}, {point: "/", kind: "overlay"}},
			want:   "overlayfs",
		},
		"a mount whose path only starts alike does not count": {
			mounts: []mount{{point: "/", kind: "ext4"}, {point: "/var/lib/mile", kind: "overlay"}},
			want:   "overlayfs",
		},
		"of two mounts on one point the later counts": {
			mounts: []mount{{point: "/var", kind: "ext4"}, {point: "/var", kind: "overlay"}},
			want:   "native",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := snapshotterFor("/var/lib/milepost", tc.mounts); got != tc.want {
				t.Errorf("want %s, got %s", tc.want, got)
			}
		})
	}
}
