// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"fmt"
	"io"
	"io/fs"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// Folder is a folder of this machine that goes into an image.
type Folder struct {
	// Source is the folder here.
	Source string
	// Target is the absolute path in the image.
	Target string
}

// Program describes an image with own programs, on a small Debian or on nothing. Its user has no
// privileges and its working folder is the first of Folders.
type Program struct {
	// Reference names the image.
	Reference string
	// Base is what lies below; static programs need none.
	Base Base
	// Folders are added in order.
	Folders []Folder
	// Entrypoint is what containers start; their arguments follow it.
	Entrypoint []string
	// Output receives progress for people.
	Output io.Writer
}

// Program returns the archive of such an image.
func (s Store) Program(ctx context.Context, p Program) (string, error) {
	layers, k, err := s.programLayers(ctx, p)
	if err != nil {
		return "", fmt.Errorf("making image %s: %w", p.Reference, err)
	}
	return s.archive(p.Reference, k.String(), func() (v1.Image, error) {
		image, err := mutate.AppendLayers(empty.Image, layers...)
		if err != nil {
			return nil, fmt.Errorf("stacking layers: %w", err)
		}
		return configure(image, v1.Config{
			Entrypoint: p.Entrypoint,
			User:       nonroot,
			WorkingDir: p.Folders[0].Target,
			Env:        []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "LANG=C.UTF-8"},
		})
	})
}

func (s Store) programLayers(ctx context.Context, p Program) ([]v1.Layer, key, error) {
	k := newKey("program", p.Reference)
	for _, word := range p.Entrypoint {
		k.add(word)
	}
	below, err := s.ground(ctx, k, p)
	if err != nil {
		return nil, k, err
	}
	above, err := folderLayers(k, p.Folders)
	return append([]v1.Layer{below}, above...), k, err
}

// ground is the lowest layer: the base, or no more than the folder for temporary files.
func (s Store) ground(ctx context.Context, k key, p Program) (v1.Layer, error) {
	if p.Base.Name == "" {
		return entriesLayer([]entry{{target: "tmp", mode: fs.ModeDir | fs.ModeSticky | 0o777}})
	}
	return s.base(ctx, k, p.Base, p.Output)
}

// folderLayers makes a layer of each folder.
func folderLayers(k key, folders []Folder) ([]v1.Layer, error) {
	var layers []v1.Layer
	for _, folder := range folders {
		entries, err := folderEntries(folder.Source, folder.Target)
		if err != nil {
			return nil, err
		}
		if err := k.addEntries(entries); err != nil {
			return nil, err
		}
		layer, err := entriesLayer(entries)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	return layers, nil
}
