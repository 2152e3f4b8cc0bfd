// SPDX-License-Identifier: Apache-2.0

// Package kept makes folders that take long to make only once.
//
// It owns when a folder is made anew and that it appears complete or not at all. It does not own
// what lies in it.
package kept

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/milepost-dev/milepost/e2e/infra/progress"
)

// Folders are folders that are kept side by side.
type Folders struct {
	// Dir is the folder that holds them.
	Dir string
	// Kind stands before their names where people read them.
	Kind string
	// Output receives progress for people.
	Output io.Writer
}

// Get returns the folder of a name and a key, which stands for all that decides its content. If there
// is none, fill fills an empty folder, which usually takes as long as said, and folders of the same
// name with other keys are removed.
func (f Folders) Get(ctx context.Context, name, key string, usual time.Duration, fill func(ctx context.Context, dir string) error) (string, error) {
	dir, err := f.get(ctx, name, key, usual, fill)
	if err != nil {
		return "", fmt.Errorf("making %s %s: %w", f.Kind, name, err)
	}
	return dir, nil
}

func (f Folders) get(ctx context.Context, name, key string, usual time.Duration, fill func(ctx context.Context, dir string) error) (string, error) {
	if err := os.MkdirAll(f.Dir, 0o755); err != nil {
		return "", err
	}
	lock := flock.New(filepath.Join(f.Dir, "."+name+".lock"))
	if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		return "", fmt.Errorf("waiting for another process that makes it: %w", err)
	}
	defer func() { _ = lock.Unlock() }() // the kernel drops the lock at exit in any case
	dir := filepath.Join(f.Dir, name+"@"+key)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	old, err := filepath.Glob(filepath.Join(f.Dir, name+"@*"))
	if err != nil {
		return "", err
	}
	done := progress.Start(f.Output, f.Kind+" "+name, usual)
	err = appear(ctx, dir, fill)
	done(err)
	if err != nil {
		return "", err
	}
	for _, folder := range old {
		err = errors.Join(err, os.RemoveAll(folder))
	}
	return dir, err
}

func appear(ctx context.Context, dir string, fill func(ctx context.Context, dir string) error) error {
	unfinished := dir + ".unfinished"
	if err := errors.Join(os.RemoveAll(unfinished), os.Mkdir(unfinished, 0o755)); err != nil {
		return err
	}
	if err := fill(ctx, unfinished); err != nil {
		return errors.Join(err, os.RemoveAll(unfinished))
	}
	return os.Rename(unfinished, dir)
}
