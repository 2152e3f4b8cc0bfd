// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"syscall"
)

// attributes puts the program into a process group of its own, so that an interrupt typed at the
// terminal reaches only the benchmark, which then stops its programs in order.
func attributes(ownMounts bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if ownMounts {
		attr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return attr
}
