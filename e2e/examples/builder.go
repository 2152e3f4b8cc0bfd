// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/milepost-dev/milepost/e2e/infra/kept"
)

// Builder builds programs and keeps them by the content they were made from.
type Builder struct {
	// Root is the folder of the repository.
	Root string
	// Cache is the folder below which finished programs are kept.
	Cache string
	// Output receives progress for people.
	Output io.Writer
}

// Program is a finished training program.
type Program struct {
	// Dir holds all that it needs beside the tools of its language.
	Dir string
	// Command starts it from within Dir; the number of epochs may follow.
	Command []string
	// Bin is a folder that it needs on its path, empty if it needs none.
	Bin string
}

// What all programs learn from: where it lies in the repository, and its name beside a program.
const (
	digits     = "docs/examples/go/digits/data/" + digitsName
	digitsName = "digits.csv.gz"
)

// ErrNoTool says that this machine lacks what a language needs.
var ErrNoTool = errors.New("is not installed")

// usual is how long the first build takes, when nothing was downloaded yet.
const usual = time.Minute

// Build returns the program of a language. The first time it takes a while.
func (b Builder) Build(ctx context.Context, language string) (Program, error) {
	r, known := recipes[language]
	if !known {
		return Program{}, fmt.Errorf("there is no example in %s", language)
	}
	version, err := exec.CommandContext(ctx, r.tool[0], r.tool[1:]...).Output()
	if err != nil {
		return Program{}, fmt.Errorf("%s %w: %w", r.tool[0], ErrNoTool, err)
	}
	key, err := contentKey(b.Root, string(version), r)
	if err != nil {
		return Program{}, err
	}
	programs := kept.Folders{Dir: filepath.Join(b.Cache, "examples"), Kind: "example", Output: b.Output}
	dir, err := programs.Get(ctx, language, key, usual, func(ctx context.Context, dir string) error { return b.build(ctx, r, dir) })
	if err != nil {
		return Program{}, err
	}
	program := Program{Dir: dir, Command: r.command}
	if bin := filepath.Join(dir, binDir); isFolder(bin) {
		program.Bin = bin
	}
	return program, nil
}

// build builds in a copy of the sources, so that nothing appears in the repository.
func (b Builder) build(ctx context.Context, r recipe, out string) error {
	copied, err := os.MkdirTemp("", "milepost-example-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(copied) }() // a leftover costs disk space only
	for _, source := range append(r.sources, digits) {
		if err := copySources(filepath.Join(b.Root, source), filepath.Join(copied, source)); err != nil {
			return err
		}
	}
	if err := r.build(ctx, b, copied, out); err != nil {
		return err
	}
	return copyAll(filepath.Join(copied, digits), filepath.Join(out, digitsName))
}
