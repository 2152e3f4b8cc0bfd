// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"context"
	"path/filepath"
)

var shellRecipe = recipe{
	tool:    []string{"bash", "--version"},
	sources: []string{"docs/examples/shell/softmax", "reporters/go"},
	command: []string{"bash", "train.sh", digitsName},
	build:   buildShell,
}

// buildShell puts milepost-report, a static binary, into a folder that goes on the path.
func buildShell(ctx context.Context, _ Builder, copied, out string) error {
	err := buildStatic(ctx, filepath.Join(copied, "reporters/go"), "./cmd/milepost-report", filepath.Join(out, binDir))
	if err != nil {
		return err
	}
	return copySources(filepath.Join(copied, "docs/examples/shell/softmax"), out)
}
