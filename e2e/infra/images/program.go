// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Go describes an image around a program of this repository.
type Go struct {
	// Package is the main package, as an import path or relative to Dir.
	Package string
	// Reference names the image.
	Reference string
	// LinkerFlags are added to the defaults, for instance "-X main.version=1".
	LinkerFlags string
	// Dir is where go build runs, the current folder if empty.
	Dir string
	// Output receives what the compiler says.
	Output io.Writer
}

// Go compiles a program and returns the archive of an image around it. The
// program lies at / under the name of its folder and is the entrypoint.
func (s Store) Go(ctx context.Context, g Go) (string, error) {
	temporary, err := os.MkdirTemp("", "milepost-image-")
	if err != nil {
		return "", fmt.Errorf("building %s: %w", g.Package, err)
	}
	defer func() { _ = os.RemoveAll(temporary) }() // a leftover costs disk space only
	binary := filepath.Join(temporary, path.Base(g.Package))
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w "+g.LinkerFlags, "-o", binary, g.Package)
	command.Dir = g.Dir
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	command.Stdout, command.Stderr = g.Output, g.Output
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("building %s: %w", g.Package, err)
	}
	return s.Binary(binary, "/"+filepath.Base(binary), g.Reference)
}

// Binary returns the archive of an image around a static program.
func (s Store) Binary(binary, at, reference string) (string, error) {
	k := newKey("binary", at, reference)
	if err := k.addFile(binary); err != nil {
		return "", err
	}
	return s.archive(reference, k.String(), func() (v1.Image, error) { return FromBinary(binary, at) })
}
