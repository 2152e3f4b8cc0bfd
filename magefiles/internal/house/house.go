// SPDX-License-Identifier: Apache-2.0

// Package house checks what no linter knows: licence headers and the length of files.
//
// It does not decide which files belong to the repository; the caller lists them.
package house

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// MaxLines is where a hand-written Go file must have been split.
const MaxLines = 500

const licence = "SPDX-License-Identifier: Apache-2.0"

// withHeader are the endings of files that state their licence; so does every script with a
// "#!" line.
var withHeader = []string{".css", ".go", ".java", ".js", ".py", ".rs", ".sh", ".toml", ".ts", ".yaml", ".yml"}

// headerLines is how far down a header may stand, behind a "#!" line or a build constraint.
const headerLines = 3

// Check returns one error for each breach among the files below root. Generated files answer to
// their generators and are left out.
func Check(root string, files, generated []string) error {
	var problems []error
	for _, name := range files {
		if slices.Contains(generated, name) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, and the deletion is not committed yet
		}
		problems = append(problems, err, header(name, text), length(name, text))
	}
	return errors.Join(problems...)
}

func header(name string, text []byte) error {
	script := bytes.HasPrefix(text, []byte("#!"))
	if len(text) == 0 || !script && !slices.Contains(withHeader, path.Ext(name)) {
		return nil
	}
	lines := bytes.SplitN(text, []byte("\n"), headerLines+1)
	head := bytes.Join(lines[:min(len(lines), headerLines)], []byte("\n"))
	if bytes.Contains(head, []byte(licence)) {
		return nil
	}
	return fmt.Errorf("%s: the first lines lack %q", name, licence)
}

func length(name string, text []byte) error {
	lines := bytes.Count(text, []byte("\n"))
	if path.Ext(name) != ".go" || lines <= MaxLines {
		return nil
	}
	return fmt.Errorf("%s: %d lines, %d are the most: split it", name, lines, MaxLines)
}
