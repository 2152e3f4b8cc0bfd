// SPDX-License-Identifier: Apache-2.0

//go:build unix

package jobfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes a lock on the whole file that other processes respect.
func lockFile(file *os.File) error {
	err := flock(file, unix.LOCK_EX)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrBusy
	}
	return err
}

// isLocked tries a shared lock, which readers can hold side by side, so that two
// of them never mistake each other for a run.
func isLocked(file *os.File) bool {
	return errors.Is(flock(file, unix.LOCK_SH), unix.EWOULDBLOCK)
}

func flock(file *os.File, kind int) error {
	for {
		err := unix.Flock(int(file.Fd()), kind|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
