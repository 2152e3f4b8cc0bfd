// SPDX-License-Identifier: Apache-2.0

package images

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// epoch is the modification time of everything in an image.
var epoch = time.Unix(0, 0)

// entry is one file, folder or symbolic link of a layer.
type entry struct {
	target string // path in the image without a leading slash
	mode   fs.FileMode
	source string // file to read, for a regular file
	link   string // where a symbolic link points
	size   int64
}

// folderEntries lists all below source as it appears at target in the image.
func folderEntries(source, target string) ([]entry, error) {
	target = strings.Trim(path.Clean("/"+target), "/")
	entries := parents(target)
	err := filepath.WalkDir(source, func(file string, item fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(source, file)
		if err != nil || relative == "." || skipped(item) {
			return skip(item, err)
		}
		made, err := newEntry(file, path.Join(target, filepath.ToSlash(relative)), item)
		if err != nil {
			return err
		}
		entries = append(entries, made)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", source, err)
	}
	return entries, nil
}

// skipped are by-products of running Python, which differ from run to run.
func skipped(item fs.DirEntry) bool {
	return item.Name() == "__pycache__" || strings.HasSuffix(item.Name(), ".pyc")
}

func skip(item fs.DirEntry, err error) error {
	if err == nil && item.IsDir() && skipped(item) {
		return filepath.SkipDir
	}
	return err
}

func newEntry(file, target string, item fs.DirEntry) (entry, error) {
	info, err := item.Info()
	if err != nil {
		return entry{}, err
	}
	switch {
	case info.Mode().IsDir():
		return entry{target: target, mode: fs.ModeDir | 0o755}, nil
	case info.Mode()&fs.ModeSymlink != 0:
		link, err := os.Readlink(file)
		return entry{target: target, mode: fs.ModeSymlink | 0o777, link: link}, err
	case info.Mode().IsRegular():
		return entry{target: target, mode: normalMode(info.Mode()), source: file, size: info.Size()}, nil
	default:
		return entry{}, fmt.Errorf("%s is neither file, folder nor link", file)
	}
}

// normalMode frees an image from the umask of whoever built it.
func normalMode(mode fs.FileMode) fs.FileMode {
	if mode&0o100 != 0 {
		return 0o755
	}
	return 0o644
}

// parents lists the folders that lead to target, target included.
func parents(target string) []entry {
	var entries []entry
	for dir := target; dir != "." && dir != ""; dir = path.Dir(dir) {
		entries = append(entries, entry{target: dir, mode: fs.ModeDir | 0o755})
	}
	slices.Reverse(entries)
	return entries
}

// newLayer makes a layer whose content is produced anew each time it is read.
func newLayer(write func(*tar.Writer) error) (v1.Layer, error) {
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		reader, writer := io.Pipe()
		go func() {
			archive := tar.NewWriter(writer)
			err := write(archive)
			if err == nil {
				err = archive.Close()
			}
			writer.CloseWithError(err)
		}()
		return reader, nil
	}, tarball.WithCompressionLevel(gzip.BestSpeed))
	if err != nil {
		return nil, fmt.Errorf("making a layer: %w", err)
	}
	return layer, nil
}

func entriesLayer(entries []entry) (v1.Layer, error) {
	return newLayer(func(archive *tar.Writer) error {
		for _, e := range entries {
			if err := e.writeTo(archive); err != nil {
				return fmt.Errorf("adding %s: %w", e.target, err)
			}
		}
		return nil
	})
}

func (e entry) writeTo(archive *tar.Writer) error {
	header := &tar.Header{Name: e.target, Mode: int64(e.mode.Perm()), ModTime: epoch, Format: tar.FormatPAX}
	switch {
	case e.mode.IsDir():
		header.Typeflag, header.Name = tar.TypeDir, e.target+"/"
		if e.mode&fs.ModeSticky != 0 {
			header.Mode |= 0o1000
		}
	case e.mode&fs.ModeSymlink != 0:
		header.Typeflag, header.Linkname = tar.TypeSymlink, e.link
	default:
		header.Typeflag, header.Size = tar.TypeReg, e.size
	}
	if err := archive.WriteHeader(header); err != nil || header.Typeflag != tar.TypeReg {
		return err
	}
	file, err := os.Open(e.source)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	_, err = io.Copy(archive, file)
	return err
}
