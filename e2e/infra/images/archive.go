// SPDX-License-Identifier: Apache-2.0

package images

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// WriteArchive writes image as an archive that container runtimes import under
// the given reference, such as localhost/milepost/sandbox:1. The file appears
// complete or not at all.
func WriteArchive(file, reference string, image v1.Image) error {
	tag, err := name.NewTag(reference, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("naming an image: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("writing image %s: %w", reference, err)
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), ".image-")
	if err != nil {
		return fmt.Errorf("writing image %s: %w", reference, err)
	}
	defer func() {
		_ = temporary.Close()           // closed before the rename, again after an error
		_ = os.Remove(temporary.Name()) // gone after the rename
	}()
	if err := tarball.Write(tag, image, temporary); err != nil {
		return fmt.Errorf("writing image %s: %w", reference, err)
	}
	if err := temporary.Close(); err != nil {
		return fmt.Errorf("writing image %s: %w", reference, err)
	}
	if err := os.Chmod(temporary.Name(), 0o644); err != nil {
		return fmt.Errorf("writing image %s: %w", reference, err)
	}
	return os.Rename(temporary.Name(), file)
}
