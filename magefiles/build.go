// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"context"
	"fmt"

	"github.com/magefile/mage/mg"
)

// Build makes the binaries.
type Build mg.Namespace

// binaries maps the name of a binary in bin/ to its main package.
var binaries = map[string]string{
	"manager":         "./controller/cmd/manager",
	"milepost":        "./controller/cmd/milepost",
	"milepost-report": "./reporters/go/cmd/milepost-report",
}

// All builds every binary into bin/.
func (Build) All(ctx context.Context) error {
	for _, name := range []string{"manager", "milepost", "milepost-report"} {
		if err := buildBinary(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// Manager builds the controller manager into bin/manager.
func (Build) Manager(ctx context.Context) error { return buildBinary(ctx, "manager") }

// Milepost builds the command line tool into bin/milepost.
func (Build) Milepost(ctx context.Context) error { return buildBinary(ctx, "milepost") }

// Report builds the program behind `milepost report` into bin/milepost-report.
func (Build) Report(ctx context.Context) error { return buildBinary(ctx, "milepost-report") }

// buildBinary builds one of the binaries with the version of this tree and says where it is.
func buildBinary(ctx context.Context, name string) error {
	out := "bin/" + name
	flags := "-s -w -X main.version=" + treeVersion(ctx)
	static := []string{"CGO_ENABLED=0"}
	if err := executeWith(ctx, static, "go", "build", "-trimpath", "-ldflags", flags, "-o", out, binaries[name]); err != nil {
		return err
	}
	fmt.Println("built", out)
	return nil
}

// treeVersion is what git calls this tree, or dev outside a git checkout.
func treeVersion(ctx context.Context) string {
	version, err := output(ctx, "git", "describe", "--tags", "--always", "--dirty")
	if err != nil || version == "" {
		return "dev"
	}
	return version
}
