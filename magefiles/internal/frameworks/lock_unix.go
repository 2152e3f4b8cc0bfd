// SPDX-License-Identifier: Apache-2.0

//go:build unix

package frameworks

import (
	"fmt"
	"os"
	"syscall"
)

// lock waits until no other process holds the file, and holds it until release. The system releases
// it as well when the process ends, however that is.
func lock(path string) (release func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		_ = file.Close() // the other error tells more
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { _ = file.Close() }, nil // which releases the lock in any case
}
