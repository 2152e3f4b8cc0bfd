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
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/milepost-dev/milepost/e2e/infra/kept"
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

// kept returns the folder of a name and key, which fill makes if there is none.
func (m Maker) kept(ctx context.Context, name string, key []byte, usual time.Duration,
	fill func(ctx context.Context, dir string) error,
) (string, error) {
	folders := kept.Folders{Dir: filepath.Join(m.Cache, "python"), Kind: "Python packages", Output: m.Output}
	return folders.Get(ctx, name, hex.EncodeToString(key)[:16], usual, fill)
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
