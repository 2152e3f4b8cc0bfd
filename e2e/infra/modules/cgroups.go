// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// cgroupFolders lists the cgroup of that name in every hierarchy. Pods live
// below it and nothing else does, so it also tells which processes are theirs.
func cgroupFolders(mounts []mount, name string) []string {
	var folders []string
	for _, m := range mounts {
		if m.kind == "cgroup" || m.kind == "cgroup2" {
			folders = append(folders, filepath.Join(m.point, name))
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

func (l layout) cgroups() ([]string, error) {
	mounts, err := readMounts()
	if err != nil {
		return nil, err
	}
	return cgroupFolders(mounts, l.name), nil
}

// createCgroups makes the cgroup below which kubelet makes those of pods.
func (l layout) createCgroups() error {
	folders, err := l.cgroups()
	if err != nil {
		return err
	}
	if len(folders) == 0 {
		return errors.New("no cgroups are mounted, so no pod can run: mount them below /sys/fs/cgroup")
	}
	for _, folder := range folders {
		if err := prepareCgroup(folder); err != nil {
			return fmt.Errorf("preparing cgroup %s: %w", folder, err)
		}
	}
	return nil
}

func prepareCgroup(folder string) error {
	parent := filepath.Dir(folder)
	if err := delegateControllers(parent); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	// In version 1 a new cpuset is empty and refuses processes.
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		if err := inherit(parent, folder, file); err != nil {
			return err
		}
	}
	return nil
}

// neededControllers are those without which a kubelet does not start.
var neededControllers = []string{"cpu", "cpuset", "memory", "pids"}

// delegateControllers makes every controller of a version 2 hierarchy available
// to the children of parent. Version 1 has no such switch.
func delegateControllers(parent string) error {
	controllers, err := os.ReadFile(filepath.Join(parent, "cgroup.controllers"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for controller := range strings.FieldsSeq(string(controllers)) {
		err := appendTo(filepath.Join(parent, "cgroup.subtree_control"), "+"+controller+"\n")
		if errors.Is(err, syscall.EBUSY) {
			return fmt.Errorf("%w: its own processes are in the way, as in a container; start that with --cgroupns=host", err)
		}
		if err != nil && slices.Contains(neededControllers, controller) {
			return err
		}
	}
	return nil
}

func appendTo(file, text string) error {
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }() // the write has told what there is to tell
	_, err = out.WriteString(text)
	return err
}

func inherit(parent, child, file string) error {
	own, err := os.ReadFile(filepath.Join(child, file))
	if errors.Is(err, os.ErrNotExist) || len(bytes.TrimSpace(own)) > 0 {
		return nil
	}
	if err != nil {
		return err
	}
	value, err := os.ReadFile(filepath.Join(parent, file))
	if err != nil || len(bytes.TrimSpace(value)) == 0 { // version 2: empty means all of the parent's
		return err
	}
	return os.WriteFile(filepath.Join(child, file), value, 0o644)
}

// podProcesses lists the processes of all pods.
func (l layout) podProcesses() ([]int, error) {
	folders, err := l.cgroups()
	if err != nil {
		return nil, err
	}
	var ids []int
	for _, folder := range folders {
		found, err := processesBelow(folder)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func processesBelow(cgroup string) ([]int, error) {
	var ids []int
	err := walkCgroup(cgroup, func(dir string) error {
		content, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			return ignoreGone(err)
		}
		for field := range strings.FieldsSeq(string(content)) {
			id, err := strconv.Atoi(field)
			if err != nil {
				return fmt.Errorf("reading processes of %s: %w", dir, err)
			}
			if id > 0 { // 0 stands for a process outside our process namespace
				ids = append(ids, id)
			}
		}
		return nil
	})
	return ids, err
}

// removeCgroups removes the cgroups of all pods, children first.
func (l layout) removeCgroups() error {
	folders, err := l.cgroups()
	if err != nil {
		return err
	}
	for _, folder := range folders {
		var dirs []string
		err := walkCgroup(folder, func(dir string) error {
			dirs = append(dirs, dir)
			return nil
		})
		if err != nil {
			return err
		}
		for _, dir := range slices.Backward(dirs) {
			if err := ignoreGone(os.Remove(dir)); err != nil {
				return fmt.Errorf("removing cgroup: %w", err)
			}
		}
	}
	return nil
}

// walkCgroup visits root and all below it, parents first. Cgroups may vanish
// at any time.
func walkCgroup(root string, visit func(dir string) error) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return ignoreGone(err)
		}
		if !entry.IsDir() {
			return nil
		}
		return visit(path)
	})
}

func ignoreGone(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
