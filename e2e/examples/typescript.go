// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"context"
	"fmt"
	"path/filepath"
)

var typeScriptRecipe = recipe{
	tool: []string{"npm", "version"},
	sources: []string{
		"LICENSE", "docs/examples/typescript/perceptron",
		"reporters/typescript/package.json", "reporters/typescript/package-lock.json",
		"reporters/typescript/tsconfig.json", "reporters/typescript/tsconfig.cjs.json", "reporters/typescript/tsconfig.esm.json",
		"reporters/typescript/README.md", "reporters/typescript/CHANGELOG.md", "reporters/typescript/scripts", "reporters/typescript/src",
	},
	command: []string{"node", "dist/train.js", digitsName},
	build:   buildTypeScript,
}

// buildTypeScript installs the packed reporter into the project, which asks for it by name.
func buildTypeScript(ctx context.Context, _ Builder, copied, out string) error {
	reporter := filepath.Join(copied, "reporters/typescript")
	err := run(ctx,
		step{dir: reporter, command: []string{"npm", "run", "--silent", "deps"}},
		step{dir: reporter, command: []string{"npm", "pack", "--loglevel=error", "--pack-destination", copied}})
	if err != nil {
		return fmt.Errorf("packing the reporter: %w", err)
	}
	tarball, err := only(filepath.Join(copied, "milepost-reporter-*.tgz"))
	if err != nil {
		return err
	}
	project := filepath.Join(copied, "docs/examples/typescript/perceptron")
	quiet := []string{"--no-audit", "--no-fund", "--loglevel=error"}
	err = run(ctx,
		step{dir: project, command: append([]string{"npm", "install", "--ignore-scripts", tarball}, quiet...)},
		step{dir: project, command: []string{"npm", "run", "--silent", "build"}},
		step{dir: project, command: append([]string{"npm", "prune", "--omit=dev"}, quiet...)})
	if err != nil {
		return err
	}
	for _, name := range []string{"package.json", "dist", "node_modules"} {
		if err := copyAll(filepath.Join(project, name), filepath.Join(out, name)); err != nil {
			return err
		}
	}
	return nil
}
