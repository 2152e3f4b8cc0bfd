// SPDX-License-Identifier: Apache-2.0

package confine

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// cover mounts an empty file system in memory over each folder.
func cover(folders []string) error {
	// Without this the mounts would reach the other programs of the machine when run by root.
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keeping mounts private: %w", err)
	}
	for _, folder := range folders {
		real, err := filepath.EvalSymlinks(folder)
		if err != nil {
			return fmt.Errorf("looking for %s: %w", folder, err)
		}
		if err := syscall.Mount("tmpfs", real, "tmpfs", 0, "mode=0700"); err != nil {
			return fmt.Errorf("covering %s: %w", folder, err)
		}
	}
	return nil
}

// execute hands the process over through the open file.
func execute(program *os.File, args, env []string) error {
	err := syscall.Exec(fmt.Sprintf("/proc/self/fd/%d", program.Fd()), args, env)
	return fmt.Errorf("running %s: %w", args[0], err)
}
