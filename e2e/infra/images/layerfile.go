// SPDX-License-Identifier: Apache-2.0

package images

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/milepost-dev/milepost/e2e/infra/progress"
)

// layer returns a kept layer, making it if it is not there. fill gets a folder
// to work in and the file to write. The layer's name says all that decides its
// content, so it also goes into the key of the image.
func (s Store) layer(
	ctx context.Context, k key, name string, out io.Writer, usual time.Duration,
	fill func(ctx context.Context, dir, file string) error,
) (v1.Layer, error) {
	k.add(name)
	file := filepath.Join(s.dir, "layers", name+"-"+format+".tar.gz")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return nil, fmt.Errorf("making a layer: %w", err)
	}
	lock := flock.New(filepath.Join(filepath.Dir(file), "."+name+".lock"))
	if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		return nil, fmt.Errorf("waiting for another process that makes layer %s: %w", name, err)
	}
	defer func() { _ = lock.Unlock() }() // the kernel drops the lock at exit in any case
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		done := progress.Start(out, "image layer "+name, usual)
		err := makeLayer(ctx, file, fill)
		done(err)
		if err != nil {
			return nil, fmt.Errorf("making layer %s: %w", name, err)
		}
	}
	layer, err := tarball.LayerFromFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading layer %s: %w", name, err)
	}
	return layer, nil
}

func makeLayer(ctx context.Context, file string, fill func(ctx context.Context, dir, file string) error) error {
	dir, err := os.MkdirTemp("", "milepost-layer-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a leftover costs disk space only
	unfinished := file + ".unfinished"
	if err := fill(ctx, dir, unfinished); err != nil {
		return err
	}
	return os.Rename(unfinished, file)
}

// quietly runs a command whose output only matters when it fails.
func quietly(ctx context.Context, name string, args ...string) error {
	output, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		lines := bytes.Split(bytes.TrimSpace(output), []byte("\n"))
		end := bytes.Join(lines[max(0, len(lines)-5):], []byte("\n"))
		return fmt.Errorf("running %s: %w: %s", name, err, end)
	}
	return nil
}
