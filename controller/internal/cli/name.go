// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"path/filepath"
	"slices"
	"strings"
)

const (
	fallbackName = "run"
	maxName      = 63
)

// scripts are the files that a launcher is given to run.
var scripts = []string{".py", ".sh", ".r", ".jl", ".js", ".mjs", ".ts", ".rb", ".pl", ".jar", ".lua", ".m"}

// nameFor makes the name of a TrainJob from a command: that of the script for
// `python train.py`, of the module for `python -m trainer.main`, else that of
// the program.
func nameFor(argv []string) string {
	for i, word := range argv {
		extension := strings.ToLower(filepath.Ext(word))
		if slices.Contains(scripts, extension) && !strings.HasPrefix(word, "-") {
			return label(strings.TrimSuffix(filepath.Base(word), filepath.Ext(word)))
		}
		if word == "-m" && i > 0 && i+1 < len(argv) {
			module := argv[i+1]
			return label(module[strings.LastIndexByte(module, '.')+1:])
		}
	}
	return label(strings.TrimSuffix(filepath.Base(argv[0]), ".exe"))
}

// label turns text into a DNS label that starts with a letter.
func label(text string) string {
	var out strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			out.WriteRune(r)
		default:
			out.WriteByte('-')
		}
	}
	name := strings.Trim(out.String(), "-")
	if name == "" {
		return fallbackName
	}
	if name[0] <= '9' {
		name = fallbackName + "-" + name
	}
	return strings.TrimRight(name[:min(len(name), maxName)], "-")
}

// withSuffix adds a suffix and keeps the limit of a label.
func withSuffix(name, suffix string) string {
	room := maxName - len(suffix) - 1
	return strings.TrimRight(name[:min(len(name), room)], "-") + "-" + suffix
}
