// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
)

var rustRecipe = recipe{
	tool: []string{"cargo", "--version"},
	sources: []string{
		"docs/examples/rust/perceptron",
		"reporters/rust/Cargo.toml", "reporters/rust/Cargo.lock", "reporters/rust/README.md", "reporters/rust/CHANGELOG.md",
		"reporters/rust/src", "reporters/rust/examples", "reporters/rust/tests",
	},
	command: []string{"./perceptron", digitsName},
	build:   buildRust,
}

// machines maps Go's names of processors to those of Rust.
var machines = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// buildRust makes a static binary, which runs whatever C library its image has or lacks. The packed
// reporter stands for crates.io, which does not have it before its first release.
func buildRust(ctx context.Context, _ Builder, copied, out string) error {
	reporter := filepath.Join(copied, "reporters/rust")
	err := run(ctx, step{dir: reporter, command: []string{"cargo", "package", "--quiet", "--no-verify", "--allow-dirty"}})
	if err != nil {
		return fmt.Errorf("packing the reporter: %w", err)
	}
	crate, err := only(filepath.Join(reporter, "target/package/milepost-reporter-*.crate"))
	if err != nil {
		return err
	}
	if err := run(ctx, step{dir: copied, command: []string{"tar", "--extract", "--gzip", "--file", crate}}); err != nil {
		return err
	}
	unpacked, err := only(filepath.Join(copied, "milepost-reporter-*"))
	if err != nil {
		return err
	}
	project, target := filepath.Join(copied, "docs/examples/rust/perceptron"), machines[runtime.GOARCH]+"-unknown-linux-gnu"
	err = run(ctx, step{dir: project, env: []string{"RUSTFLAGS=-Ctarget-feature=+crt-static"}, command: []string{
		"cargo", "build", "--quiet", "--release", "--locked", "--target", target, "--target-dir", "target",
		"--config", fmt.Sprintf("patch.crates-io.milepost-reporter.path=%q", unpacked),
	}})
	if err != nil {
		return err
	}
	return copyAll(filepath.Join(project, "target", target, "release/perceptron"), filepath.Join(out, "perceptron"))
}
