// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/milepost-dev/milepost/e2e/infra/progress"
)

// Builder makes programs and finds those made before.
type Builder struct {
	cache    string
	modules  string
	progress io.Writer
}

// New returns a Builder for the repository around the current folder.
// Progress for people goes to out.
func New(out io.Writer) (*Builder, error) {
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("looking for pinned modules: %w", err)
	}
	modules, err := findModules(here)
	if err != nil {
		return nil, err
	}
	return &Builder{cache: cache, modules: modules, progress: out}, nil
}

// Cache is the folder of everything that is kept between runs.
func (b *Builder) Cache() string { return b.cache }

// Version is the version name is pinned to.
func (b *Builder) Version(name string) (string, error) {
	program, err := Lookup(name)
	if err != nil {
		return "", err
	}
	return b.version(program)
}

// Paths returns one path for each name, in order, building what is missing.
// What can be checked is checked before the first build starts, for the builds
// may take ten minutes.
func (b *Builder) Paths(ctx context.Context, names ...string) ([]string, error) {
	for _, name := range names {
		if err := b.check(name); err != nil {
			return nil, err
		}
	}
	paths := make([]string, len(names))
	for i, name := range names {
		path, err := b.Path(ctx, name)
		if err != nil {
			return nil, err
		}
		paths[i] = path
	}
	return paths, nil
}

// check tells whether name is known and can be built here, if it has to be.
func (b *Builder) check(name string) error {
	program, err := Lookup(name)
	if err != nil {
		return err
	}
	version, err := b.version(program)
	if err != nil {
		return err
	}
	if !program.CGO || finished(binaryPath(b.cache, name, version)) {
		return nil
	}
	return checkToolchain(name, exec.LookPath)
}

// Path returns the path of the program name, building it if it is missing.
func (b *Builder) Path(ctx context.Context, name string) (string, error) {
	program, err := Lookup(name)
	if err != nil {
		return "", err
	}
	version, err := b.version(program)
	if err != nil {
		return "", err
	}
	target := binaryPath(b.cache, name, version)
	if finished(target) {
		return target, nil
	}
	if err := b.buildOnce(ctx, name, program, version, target); err != nil {
		return "", fmt.Errorf("building %s %s: %w", name, version, err)
	}
	return target, nil
}

// buildOnce holds a lock while building, so that of two processes in need of
// the same program one builds and the other waits for the result.
func (b *Builder) buildOnce(ctx context.Context, name string, program Program, version, target string) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(filepath.Dir(target), ".lock"))
	if err := b.wait(ctx, lock, name); err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }() // the kernel drops the lock at exit in any case
	if finished(target) {
		return nil
	}
	done := progress.Start(b.progress, name+" "+version, program.Cold)
	err := build(ctx, compilation{
		folder:  filepath.Join(b.modules, program.Folder),
		program: program,
		version: version,
		target:  target,
		output:  b.progress,
	})
	done(err)
	return err
}

func (b *Builder) wait(ctx context.Context, lock *flock.Flock, name string) error {
	free, err := lock.TryLock()
	if err != nil || free {
		return err
	}
	_, _ = fmt.Fprintf(b.progress, "waiting for another process that builds %s\n", name)
	_, err = lock.TryLockContext(ctx, 200*time.Millisecond)
	return err
}

func finished(target string) bool {
	info, err := os.Stat(target)
	return err == nil && info.Mode().IsRegular()
}
