// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// format is part of every key: raise it when the same sources give another program.
const format = "1"

// leftovers are folders that tools leave among sources.
var leftovers = []string{"__pycache__", "node_modules", "target", "dist"}

// contentKey is a short name for the sources of a recipe and the version of its tool.
func contentKey(root, version string, r recipe) (string, error) {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n%q\n%q\n", format, version, r.command)
	for _, source := range append(r.sources, digits) {
		err := walk(filepath.Join(root, source), leftovers, func(relative string, content io.Reader) error {
			sum := sha256.New()
			if _, err := io.Copy(sum, content); err != nil {
				return err
			}
			fmt.Fprintf(hash, "%q %q %x\n", source, relative, sum.Sum(nil))
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// copySources copies a file or a folder without leftovers.
func copySources(source, target string) error { return copyFiles(source, target, leftovers) }

// copyAll copies a file or a folder.
func copyAll(source, target string) error { return copyFiles(source, target, nil) }

func copyFiles(source, target string, without []string) error {
	return walk(source, without, func(relative string, content io.Reader) error {
		file := filepath.Join(target, relative)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		info, err := os.Stat(filepath.Join(source, relative))
		if err != nil {
			return err
		}
		copied, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, info.Mode().Perm())
		if err != nil {
			return err
		}
		if _, err := io.Copy(copied, content); err != nil {
			_ = copied.Close() // the first error counts
			return err
		}
		return copied.Close()
	})
}

// walk visits a file, as ".", or all files below a folder but for
// those in folders of some names, in the order of their names.
func walk(source string, without []string, visit func(relative string, content io.Reader) error) error {
	err := filepath.WalkDir(source, func(path string, item fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case item.IsDir() && slices.Contains(without, item.Name()):
			return fs.SkipDir
		case !item.Type().IsRegular():
			return nil
		}
		relative, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // only read
		return visit(relative, file)
	})
	if err != nil {
		return fmt.Errorf("reading %s: %w", source, err)
	}
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
