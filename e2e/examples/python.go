// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"context"
	"path/filepath"

	"github.com/milepost-dev/milepost/e2e/pythonenv"
)

var pythonRecipe = recipe{
	tool: []string{pythonenv.Interpreter(), "--version"},
	sources: []string{
		"docs/examples/python/perceptron",
		"reporters/python/pyproject.toml", "reporters/python/README.md", "reporters/python/LICENSE", "reporters/python/src",
	},
	command: []string{"python3", "train.py", digitsName},
	build:   buildPython,
}

// buildPython puts what the wheel of the reporter installs beside the program, where Python looks
// first.
func buildPython(ctx context.Context, b Builder, copied, out string) error {
	installed, err := pythonenv.Maker{Cache: b.Cache, Output: b.Output}.Milepost(ctx, b.Root)
	if err != nil {
		return err
	}
	if err := copyAll(installed, out); err != nil {
		return err
	}
	return copySources(filepath.Join(copied, "docs/examples/python/perceptron"), out)
}
