// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mount is a line of /proc/self/mountinfo.
type mount struct {
	point  string
	kind   string
	source string
	// options of the file system, for cgroup version 1 its controllers.
	options []string
}

func readMounts() ([]mount, error) {
	content, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("reading mounts: %w", err)
	}
	return parseMounts(string(content)), nil
}

// parseMounts reads lines of the form, see proc_pid_mountinfo(5),
//
//	36 35 98:0 /root /mount/point rw,noatime shared:1 - ext4 /dev/root rw
//
// in which any number of optional fields stands before the dash.
func parseMounts(content string) []mount {
	var mounts []mount
	for line := range strings.Lines(content) {
		before, after, found := strings.Cut(strings.TrimSpace(line), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !found || len(left) < 6 || len(right) < 3 {
			continue
		}
		mounts = append(mounts, mount{
			point:   unescape(left[4]),
			kind:    right[0],
			source:  right[1],
			options: strings.Split(right[2], ","),
		})
	}
	return mounts
}

var octal = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func unescape(path string) string { return octal.Replace(path) }

// mountsBelow lists the mount points at dir and below it, the innermost and
// latest first, which is the order they can be unmounted in.
func mountsBelow(dir string) ([]string, error) {
	mounts, err := readMounts()
	if err != nil {
		return nil, err
	}
	return below(mounts, dir), nil
}

func below(mounts []mount, dir string) []string {
	var points []string
	for _, m := range mounts {
		if m.point == dir || strings.HasPrefix(m.point, dir+"/") {
			points = append(points, m.point)
		}
	}
	slices.Reverse(points)
	return points
}

// snapshotterFor chooses how containerd stores images below dir: an overlay
// cannot lie on another overlay, as it would inside most containers.
func snapshotterFor(dir string, mounts []mount) string {
	kind, longest := "", -1
	for _, m := range mounts {
		inside := m.point == "/" || dir == m.point || strings.HasPrefix(dir, m.point+"/")
		if inside && len(filepath.Clean(m.point)) >= longest {
			kind, longest = m.kind, len(m.point)
		}
	}
	if kind == "overlay" {
		return "native"
	}
	return "overlayfs"
}
