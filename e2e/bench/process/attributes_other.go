// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package process

import "syscall"

// attributes has nothing to add where there is no /proc: the benchmark itself refuses to run there.
func attributes(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
