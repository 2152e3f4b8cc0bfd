// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCgroupFolders(t *testing.T) {
	mounts := []mount{
		{point: "/sys/fs/cgroup", kind: "tmpfs"},
		{point: "/sys/fs/cgroup/unified", kind: "cgroup2"},
		{point: "/sys/fs/cgroup/memory", kind: "cgroup"},
		{point: "/sys/fs/cgroup/memory", kind: "cgroup"},
	}
	want := []string{"/sys/fs/cgroup/memory/milepost", "/sys/fs/cgroup/unified/milepost"}
	if diff := cmp.Diff(want, cgroupFolders(mounts, "milepost")); diff != "" {
		t.Errorf("folders (-want +got):\n%s", diff)
	}
}

// A folder of plain files stands in for a cgroup hierarchy here, because a real
// one can only be changed by root.
func writeFiles(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for path, content := range files {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestProcessesBelowAFolderOfFiles(t *testing.T) {
	root := t.TempDir()
	writeFiles(t, root, map[string]string{
		"cgroup.procs":                 "",
		"kubepods/pod1/cgroup.procs":   "12\n13\n",
		"kubepods/pod2/c/cgroup.procs": "0\n14\n",
	})
	got, err := processesBelow(root)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]int{12, 13, 14}, got); diff != "" {
		t.Errorf("process 0 is nobody's and must not be signalled (-want +got):\n%s", diff)
	}
	if got, err := processesBelow(filepath.Join(root, "gone")); err != nil || len(got) > 0 {
		t.Errorf("want nothing from a cgroup that is gone, got %v and %v", got, err)
	}
}

func TestPrepareCgroupInAFolderOfFiles(t *testing.T) {
	cases := map[string]struct {
		before map[string]string
		want   map[string]string
	}{
		"version 1: an empty cpuset takes the parent's processors": {
			before: map[string]string{"cpuset.cpus": "0-1\n", "milepost/cpuset.cpus": "\n"},
			want:   map[string]string{"milepost/cpuset.cpus": "0-1\n"},
		},
		"version 1: a filled cpuset stays": {
			before: map[string]string{"cpuset.cpus": "0-1\n", "milepost/cpuset.cpus": "1\n"},
			want:   map[string]string{"milepost/cpuset.cpus": "1\n"},
		},
		"version 2: all controllers are handed down": {
			before: map[string]string{"cgroup.controllers": "cpu memory pids\n", "cgroup.subtree_control": ""},
			want:   map[string]string{"cgroup.subtree_control": "+cpu\n+memory\n+pids\n"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			writeFiles(t, root, tc.before)
			if err := prepareCgroup(filepath.Join(root, "milepost")); err != nil {
				t.Fatal(err)
			}
			for path, want := range tc.want {
				got, err := os.ReadFile(filepath.Join(root, path))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, string(got)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", path, diff)
				}
			}
		})
	}
}
