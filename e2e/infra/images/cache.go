// SPDX-License-Identifier: Apache-2.0

package images

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// format is part of every key: raise it when the same input gives another image.
const format = "1"

// Store keeps finished archives by the content they were made from.
type Store struct {
	dir string
}

// NewStore returns a Store below the given cache folder.
func NewStore(cache string) Store {
	return Store{dir: filepath.Join(cache, "images")}
}

// archive returns the archive of reference for a key, making it if there is
// none. Only the newest archive of a reference is kept, they can be large.
func (s Store) archive(reference, key string, build func() (v1.Image, error)) (string, error) {
	prefix := fileName(reference) + "@"
	file := filepath.Join(s.dir, prefix+key+".tar")
	if _, err := os.Stat(file); err == nil || !errors.Is(err, os.ErrNotExist) {
		return file, err
	}
	image, err := build()
	if err != nil {
		return "", fmt.Errorf("making image %s: %w", reference, err)
	}
	if err := WriteArchive(file, reference, image); err != nil {
		return "", err
	}
	return file, s.prune(prefix, file)
}

func (s Store) prune(prefix, keep string) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("clearing old images: %w", err)
	}
	for _, entry := range entries {
		old := filepath.Join(s.dir, entry.Name())
		if old == keep || !strings.HasPrefix(entry.Name(), prefix) {
			continue
		}
		if err := os.Remove(old); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("clearing old images: %w", err)
		}
	}
	return nil
}

func fileName(reference string) string {
	return strings.NewReplacer("/", "_", ":", "_").Replace(reference)
}

// key collects what an image is made of into a short name for it.
type key struct {
	hash hash.Hash
}

func newKey(parts ...string) key {
	k := key{hash: sha256.New()}
	k.add(format)
	for _, part := range parts {
		k.add(part)
	}
	return k
}

// add writes the length too, so that no two lists of parts look the same.
func (k key) add(part string) {
	_, _ = fmt.Fprintf(k.hash, "%d:%s", len(part), part) // a hash never fails
}

func (k key) addFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading what goes into an image: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	content := sha256.New()
	if _, err := io.Copy(content, file); err != nil {
		return fmt.Errorf("reading what goes into an image: %w", err)
	}
	k.add(hex.EncodeToString(content.Sum(nil)))
	return nil
}

func (k key) addEntries(entries []entry) error {
	for _, e := range entries {
		k.add(e.target)
		k.add(e.mode.String())
		k.add(e.link)
		if e.source == "" {
			continue
		}
		if err := k.addFile(e.source); err != nil {
			return err
		}
	}
	return nil
}

func (k key) String() string { return hex.EncodeToString(k.hash.Sum(nil))[:16] }
