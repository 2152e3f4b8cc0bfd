// SPDX-License-Identifier: Apache-2.0

//go:build unix

package command

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// terminal is the controlling terminal of this process. A nil *terminal means
// that there is none, and every method does nothing then.
type terminal struct {
	file *os.File
}

func openTerminal() *terminal {
	file, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	return &terminal{file: file}
}

func (t *terminal) fd() int { return int(t.file.Fd()) }

func (t *terminal) close() {
	if t != nil {
		_ = t.file.Close() // nothing was written
	}
}

// isOurs tells whether this process is in the foreground.
func (t *terminal) isOurs() bool {
	return t.belongsTo(unix.Getpgrp())
}

func (t *terminal) belongsTo(group int) bool {
	if t == nil {
		return false
	}
	foreground, err := unix.IoctlGetInt(t.fd(), unix.TIOCGPGRP)
	return err == nil && foreground == group
}

// mayPassOn tells whether the command should have the terminal from the start:
// its input is a terminal, and no other process of a pipeline, such as a pager,
// wants the terminal beside it.
func (t *terminal) mayPassOn(stdin, stdout, stderr *os.File) bool {
	if t == nil || stdin == nil || !term.IsTerminal(int(stdin.Fd())) {
		return false
	}
	return !isPipe(stdout) && !isPipe(stderr) && t.isOurs()
}

func isPipe(file *os.File) bool {
	if file == nil {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
}

// give puts a process group in the foreground: it gets what is typed and the
// signals of the terminal.
func (t *terminal) give(group int) {
	if t != nil {
		_ = unix.IoctlSetPointerInt(t.fd(), unix.TIOCSPGRP, group) // fails only when the terminal is gone
	}
}

// takeBack puts this process in the foreground again when the group had been
// there. Otherwise the terminal is the shell's to give.
func (t *terminal) takeBack(group int) {
	if t.belongsTo(group) {
		t.give(unix.Getpgrp())
	}
}

// isOrphaned tells whether no process outside the process group of this one, in
// the same session, could continue it after a stop.
func isOrphaned() bool {
	session, err := unix.Getsid(0)
	if err != nil {
		return true
	}
	group := unix.Getpgrp()
	for parent := os.Getppid(); parent > 1; parent = parentOf(parent) {
		parentSession, err := unix.Getsid(parent)
		if err != nil || parentSession != session {
			return true
		}
		if parentGroup, err := unix.Getpgid(parent); err != nil || parentGroup != group {
			return err != nil
		}
	}
	return true
}

// parentOf returns the parent of a process, 0 when it cannot be told.
func parentOf(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// The name of the program stands in parentheses and may hold anything, spaces too.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return parent
}
