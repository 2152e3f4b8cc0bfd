// SPDX-License-Identifier: Apache-2.0

package gentable

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// match lists the files below the root that a pattern stands for, sorted.
func (t Table) match(pattern string) (paths []string, err error) {
	root := os.DirFS(t.Root)
	if !strings.Contains(pattern, "**") {
		paths, err = fs.Glob(root, pattern)
		return slices.DeleteFunc(paths, func(p string) bool { return isDir(root, p) }), err
	}
	top, rest, _ := strings.Cut(pattern, "**/")
	err = fs.WalkDir(root, path.Clean(top), func(p string, entry fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		if ok, err := path.Match(rest, path.Base(p)); err != nil || !ok {
			return err
		}
		paths = append(paths, p)
		return nil
	})
	return paths, err
}

func isDir(root fs.FS, name string) bool {
	info, err := fs.Stat(root, name)
	return err == nil && info.IsDir()
}
