// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"context"
	"path/filepath"
)

var goRecipe = recipe{
	tool:    []string{"go", "version"},
	sources: []string{"docs/examples/go/go.mod", "docs/examples/go/perceptron", "reporters/go"},
	command: []string{"./perceptron", digitsName},
	build:   buildGo,
}

// buildGo makes a static binary. Go has no packages but modules: the reporter's is the one beside
// the program, by a replace line, as long as the proxies do not have it.
func buildGo(ctx context.Context, _ Builder, copied, out string) error {
	return buildStatic(ctx, filepath.Join(copied, "docs/examples/go"), "./perceptron", out)
}

func buildStatic(ctx context.Context, dir, pkg, out string) error {
	return run(ctx, step{
		dir: dir, env: []string{"CGO_ENABLED=0", "GOOS=linux", "GOWORK=off"},
		command: []string{"go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out + "/", pkg},
	})
}
