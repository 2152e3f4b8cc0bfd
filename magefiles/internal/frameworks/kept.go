// SPDX-License-Identifier: Apache-2.0

package frameworks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/milepost-dev/milepost/magefiles/internal/run"
)

const (
	// tries tell a hiccup of a registry from a refusal.
	tries = 3
	// finished is the file that says that everything is installed.
	finished = "milepost-finished"
	// below is the file that names the packages of another environment.
	below    = "milepost-base.pth"
	keyBytes = 6
)

// Store makes environments and keeps them for the next time.
type Store struct {
	Dir    string // where environments are kept
	Python string // the interpreter that they are made with
}

// Missing says what is lacking to make environments, empty when nothing is.
func (s Store) Missing(ctx context.Context) string {
	if _, err := (run.Cmd{}).Output(ctx, s.Python, "-c", "import sys; assert sys.version_info >= (3, 9)"); err != nil {
		return s.Python + " of version 3.9 or newer is not installed"
	}
	if _, err := (run.Cmd{}).Output(ctx, s.Python, "-c", "import ensurepip, venv"); err != nil {
		return s.Python + " has no modules ensurepip and venv"
	}
	return ""
}

// Environment returns the interpreter of an environment with the packages of the files, which are
// installed where that has not been done yet. An environment is another one when a file or the
// interpreter changes.
func (s Store) Environment(ctx context.Context, name string, files ...string) (python string, err error) {
	return s.environment(ctx, name, "", files)
}

// Above is an environment that finds the packages of the base's file in an environment that
// others share. Its own packages win.
func (s Store) Above(ctx context.Context, base, name string, files ...string) (python string, err error) {
	below, err := s.Environment(ctx, strings.TrimSuffix(filepath.Base(base), filepath.Ext(base)), base)
	if err != nil {
		return "", err
	}
	packages, err := packagesOf(ctx, below)
	if err != nil {
		return "", err
	}
	return s.environment(ctx, name, packages, files)
}

// environment makes an environment, which also has the packages of a folder unless that is empty.
func (s Store) environment(ctx context.Context, name, packages string, files []string) (python string, err error) {
	key, err := s.key(ctx, packages, files)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(s.Dir, name+"-"+key)
	python = filepath.Join(dir, "bin", "python")
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return "", err
	}
	// Two that made it at once would take each other's files away.
	release, err := lock(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer release()
	_, err = os.Stat(filepath.Join(dir, finished))
	if !errors.Is(err, fs.ErrNotExist) {
		return python, err
	}
	return python, s.install(ctx, name, dir, packages, files)
}

// install makes the environment of a folder.
func (s Store) install(ctx context.Context, name, dir, packages string, files []string) (err error) {
	python := filepath.Join(dir, "bin", "python")
	fmt.Printf("installing the packages of %s into %s\n", name, dir)
	if err := (run.Cmd{}).Run(ctx, s.Python, "-m", "venv", "--clear", dir); err != nil {
		return err
	}
	if packages != "" {
		own, err := packagesOf(ctx, python)
		if err != nil {
			return err
		}
		// Python adds the folders that such a file names, behind its own.
		if err := os.WriteFile(filepath.Join(own, below), []byte(packages+"\n"), 0o600); err != nil {
			return err
		}
	}
	args := []string{"install"}
	for _, file := range files {
		args = append(args, "--requirement", file)
	}
	for range tries {
		if err = Pip(ctx, python, args...); err == nil {
			return os.WriteFile(filepath.Join(dir, finished), nil, 0o600)
		}
	}
	return err
}

// packagesOf is the folder where an interpreter has its packages.
func packagesOf(ctx context.Context, python string) (string, error) {
	out, err := run.Cmd{}.Output(ctx, python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
	return strings.TrimSpace(out), err
}

// Pip runs pip in an environment, and only there.
func Pip(ctx context.Context, python string, args ...string) error {
	all := append([]string{"-m", "pip", "--quiet", "--disable-pip-version-check", "--retries", "5"}, args...)
	return run.Cmd{Env: []string{"PIP_REQUIRE_VIRTUALENV=1"}}.Run(ctx, python, all...)
}

// key changes with everything that an environment is made from.
func (s Store) key(ctx context.Context, packages string, files []string) (string, error) {
	version, err := run.Cmd{}.Output(ctx, s.Python, "-c", "import sys; print(sys.base_prefix, sys.version)")
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%q", version) // a hash takes everything
	if packages != "" {
		_, _ = fmt.Fprintf(sum, "%q", packages) // whose name changes with what is in it
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(sum, "%q", text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:keyBytes]), nil
}
