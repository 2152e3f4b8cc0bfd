// SPDX-License-Identifier: Apache-2.0

// Command goproxy packs a Go module as the module proxy does, into a tree of files that GOPROXY=file://… reads. That is
// what gets published of a Go module, though nobody uploads it.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: goproxy MODULE-FOLDER OUTPUT-FOLDER")
		os.Exit(2)
	}
	if err := pack(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "goproxy:", err)
		os.Exit(1)
	}
}

// pack writes one version of a module; what another run left is removed.
func pack(folder, output string) error {
	text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return err
	}
	version, err := newest(filepath.Join(folder, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	packed := module.Version{Path: modfile.ModulePath(text), Version: "v" + version}
	if err := os.RemoveAll(output); err != nil {
		return err
	}
	path, err := module.EscapePath(packed.Path)
	if err != nil {
		return err
	}
	versions := filepath.Join(output, filepath.FromSlash(path), "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		return err
	}
	info := fmt.Sprintf(`{"Version":%q,"Time":%q}`, packed.Version, time.Now().UTC().Format(time.RFC3339))
	at := filepath.Join(versions, packed.Version)
	return errors.Join(
		os.WriteFile(filepath.Join(versions, "list"), []byte(packed.Version+"\n"), 0o644),
		os.WriteFile(at+".info", []byte(info), 0o644),
		os.WriteFile(at+".mod", text, 0o644),
		packFiles(at+".zip", packed, folder),
	)
}

func packFiles(path string, packed module.Version, folder string) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return zip.CreateFromDir(file, packed, folder)
}

var heading = regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+\S*)`)

// newest is the version that the changelog names first.
func newest(changelog string) (string, error) {
	text, err := os.ReadFile(changelog)
	if err != nil {
		return "", err
	}
	found := heading.FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("%s: no heading with a version", changelog)
	}
	return string(found[1]), nil
}
