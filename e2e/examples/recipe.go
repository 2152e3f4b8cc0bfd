// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// recipe says how the program of a language is built.
type recipe struct {
	// tool prints its version. It is the first that a machine lacks.
	tool []string
	// sources are the files and folders that the program is made of, relative to the root.
	sources []string
	// command starts the program from within its folder.
	command []string
	// build makes the program in the folder out. It runs in a copy of the sources, laid out as in
	// the repository, where it may leave what it likes.
	build func(ctx context.Context, b Builder, copied, out string) error
}

// binDir is the folder of a program that goes on the path of whoever runs it, where there is one.
const binDir = "bin"

// recipes are the languages that have an example. A shell stands for every language without a
// reporter of its own.
var recipes = map[string]recipe{
	"go":         goRecipe,
	"java":       javaRecipe,
	"python":     pythonRecipe,
	"rust":       rustRecipe,
	"shell":      shellRecipe,
	"typescript": typeScriptRecipe,
}

// Languages names the languages that have an example, in order.
func Languages() []string { return slices.Sorted(maps.Keys(recipes)) }

// step is a command of a build.
type step struct {
	dir     string
	env     []string // "KEY=value" on top of the environment
	command []string
}

// run runs commands one after the other. What they say only matters when one fails.
func run(ctx context.Context, steps ...step) error {
	for _, s := range steps {
		command := exec.CommandContext(ctx, s.command[0], s.command[1:]...)
		command.Dir, command.Env = s.dir, append(os.Environ(), s.env...)
		output, err := command.CombinedOutput()
		if err != nil {
			lines := bytes.Split(bytes.TrimSpace(output), []byte("\n"))
			return fmt.Errorf("running %v: %w: %s", s.command, err, bytes.Join(lines[max(0, len(lines)-20):], []byte("\n")))
		}
	}
	return nil
}

// only is the one file that a pattern matches.
func only(pattern string) (string, error) {
	found, err := filepath.Glob(pattern)
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("want one file %s, found %d", pattern, len(found))
	}
	if err != nil {
		return "", err
	}
	return found[0], nil
}
