// SPDX-License-Identifier: Apache-2.0

package jobfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrBusy means that another run writes the file.
var ErrBusy = errors.New("another run has this name")

// Lock keeps other runs from writing the same file. It ends with the process,
// however that ends.
type Lock struct {
	file *os.File
}

// Acquire takes the lock of a file, without waiting. ErrBusy means that another
// run holds it.
func Acquire(path string) (*Lock, error) {
	name := lockName(path)
	if err := os.MkdirAll(filepath.Dir(name), dirMode); err != nil {
		return nil, fmt.Errorf("locking the TrainJob: %w", err)
	}
	for {
		file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode)
		if err != nil {
			return nil, fmt.Errorf("locking the TrainJob: %w", err)
		}
		if err := lockFile(file); err != nil {
			return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), file.Close())
		}
		// The holder before us may have removed the file between the two steps.
		if same(file, name) {
			return &Lock{file: file}, nil
		}
		if err := file.Close(); err != nil {
			return nil, fmt.Errorf("locking the TrainJob: %w", err)
		}
	}
}

// Release gives the lock back and removes its file.
func (l *Lock) Release() error {
	return errors.Join(os.Remove(l.file.Name()), l.file.Close())
}

// Held tells whether a run is writing the file now.
func Held(path string) bool {
	file, err := os.Open(lockName(path))
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }() // opened for reading
	return isLocked(file)
}

func lockName(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".lock")
}

func same(file *os.File, name string) bool {
	ours, err := file.Stat()
	if err != nil {
		return false
	}
	theirs, err := os.Stat(name)
	return err == nil && os.SameFile(ours, theirs)
}
