// SPDX-License-Identifier: Apache-2.0

// Package pythonenv makes folders with Python packages, from a registry and from this checkout.
//
// It owns what lies in such a folder and when it is made anew. It does not own who imports from it.
package pythonenv

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/milepost-dev/milepost/e2e/infra/progress"
)

// interpreterVariable names the Python of this machine to use, python3 by default.
const interpreterVariable = "MILEPOST_PYTHON"

// Maker makes folders and keeps them by what they were made from.
type Maker struct {
	// Cache is the folder below which they are kept.
	Cache string
	// Output receives progress for people.
	Output io.Writer
}

// Interpreter is the Python of this machine that can import from the folders.
func Interpreter() string {
	if python := os.Getenv(interpreterVariable); python != "" {
		return python
	}
	return "python3"
}

// Installed is a folder with the packages of a requirements file.
func (m Maker) Installed(ctx context.Context, requirements string) (string, error) {
	version, err := exec.CommandContext(ctx, Interpreter(), "-c", "import sys; print(sys.version_info[:2])").Output()
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", Interpreter(), err)
	}
	content, err := os.ReadFile(requirements)
	if err != nil {
		return "", fmt.Errorf("reading requirements: %w", err)
	}
	name := strings.TrimSuffix(filepath.Base(requirements), filepath.Ext(requirements))
	key := sha256.Sum256(append(version, content...))
	return m.kept(ctx, name, key[:], 30*time.Second, func(ctx context.Context, dir string) error {
		return pip(ctx, "install", "--no-compile", "--target="+dir, "--requirement="+requirements)
	})
}

// Milepost is a folder with the package milepost as its wheel installs it, built from the checkout at root.
func (m Maker) Milepost(ctx context.Context, root string) (string, error) {
	source := filepath.Join(root, "reporters", "python")
	key, err := sourcesKey(source, "pyproject.toml", "README.md", "LICENSE", "src")
	if err != nil {
		return "", fmt.Errorf("reading the sources of the package: %w", err)
	}
	return m.kept(ctx, "milepost", key, 10*time.Second, func(ctx context.Context, dir string) error {
		return pip(ctx, "install", "--no-compile", "--no-deps", "--target="+dir, source)
	})
}

// kept returns the folder of a name and key. fill gets an empty folder; the result appears
// complete or not at all, and older ones of the name go.
func (m Maker) kept(ctx context.Context, name string, key []byte, usual time.Duration,
	fill func(ctx context.Context, dir string) error,
) (string, error) {
	parent := filepath.Join(m.Cache, "python")
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", fmt.Errorf("making Python packages %s: %w", name, err)
	}
	lock := flock.New(filepath.Join(parent, "."+name+".lock"))
	if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		return "", fmt.Errorf("waiting for another process that makes Python packages %s: %w", name, err)
	}
	defer func() { _ = lock.Unlock() }() // the kernel drops the lock at exit in any case
	dir := filepath.Join(parent, name+"@"+hex.EncodeToString(key)[:16])
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	old, err := filepath.Glob(filepath.Join(parent, name+"@*"))
	if err != nil {
		return "", fmt.Errorf("looking for older Python packages %s: %w", name, err)
	}
	done := progress.Start(m.Output, "Python packages "+name, usual)
	err = appear(ctx, dir, fill)
	done(err)
	if err != nil {
		return "", fmt.Errorf("making Python packages %s: %w", name, err)
	}
	for _, folder := range old {
		err = errors.Join(err, os.RemoveAll(folder))
	}
	return dir, err
}

func appear(ctx context.Context, dir string, fill func(ctx context.Context, dir string) error) error {
	unfinished := dir + ".unfinished"
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	if err := fill(ctx, unfinished); err != nil {
		return err
	}
	return os.Rename(unfinished, dir)
}

func pip(ctx context.Context, arguments ...string) error {
	arguments = append([]string{"-m", "pip", "--disable-pip-version-check", "--quiet"}, arguments...)
	output, err := exec.CommandContext(ctx, Interpreter(), arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("running pip: %w: %s", err, bytes.TrimSpace(output))
	}
	return nil
}

// sourcesKey hashes names and contents of files and folders below root.
func sourcesKey(root string, items ...string) ([]byte, error) {
	hash := sha256.New()
	for _, item := range items {
		err := filepath.WalkDir(filepath.Join(root, item), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() && entry.Name() != "__pycache__" {
				return err
			}
			if entry.IsDir() {
				return filepath.SkipDir
			}
			content, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			relative, err := filepath.Rel(root, file)
			_, _ = fmt.Fprintf(hash, "%q %x\n", relative, sha256.Sum256(content)) // a hash never fails
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return hash.Sum(nil), nil
}
