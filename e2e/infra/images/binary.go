// SPDX-License-Identifier: Apache-2.0

package images

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// nonroot is the user and group of images that need no privilege, the number
// distroless images use too.
const nonroot = "65532:65532"

// FromBinary makes an image that holds one static program, at the path at, and
// an empty /tmp. It runs as a user without privileges.
func FromBinary(binary, at string) (v1.Image, error) {
	info, err := os.Stat(binary)
	if err != nil {
		return nil, fmt.Errorf("adding a program to an image: %w", err)
	}
	target := strings.TrimPrefix(path.Clean(at), "/")
	entries := append(parents(path.Dir(target)),
		entry{target: "tmp", mode: fs.ModeDir | fs.ModeSticky | 0o777},
		entry{target: target, mode: 0o755, source: binary, size: info.Size()},
	)
	layer, err := entriesLayer(entries)
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, fmt.Errorf("adding a program to an image: %w", err)
	}
	return configure(image, v1.Config{
		Entrypoint: []string{"/" + target},
		User:       nonroot,
		WorkingDir: "/",
		Env:        []string{"PATH=/"},
	})
}

// configure sets how containers of the image run and the platform, without
// which a container runtime refuses the image.
func configure(image v1.Image, config v1.Config) (v1.Image, error) {
	file, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading an image's configuration: %w", err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", runtime.GOARCH
	file.Created = v1.Time{Time: epoch.UTC()}
	file.Config = config
	configured, err := mutate.ConfigFile(image, file)
	if err != nil {
		return nil, fmt.Errorf("configuring an image: %w", err)
	}
	return configured, nil
}
