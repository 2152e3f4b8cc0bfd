// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/magefile/mage/mg"

	"github.com/milepost-dev/milepost/magefiles/internal/fences"
	"github.com/milepost-dev/milepost/magefiles/internal/house"
)

// Lint checks style and structure.
type Lint mg.Namespace

// All runs every linter and reports what each found.
func (l Lint) All(ctx context.Context) error {
	return errors.Join(l.Go(ctx), l.Fences(ctx), l.House(ctx), l.Openapi(ctx))
}

// Go runs golangci-lint over all modules: bugs, house style, formatting and import fences.
func (Lint) Go(ctx context.Context) error {
	packages, err := workspacePackages(ctx)
	if err != nil {
		return err
	}
	return tool(ctx, "golangci-lint", append([]string{"run"}, packages...)...)
}

// Fix lets golangci-lint and its formatters mend what they can.
func (Lint) Fix(ctx context.Context) error {
	packages, err := workspacePackages(ctx)
	if err != nil {
		return err
	}
	return tool(ctx, "golangci-lint", append([]string{"run", "--fix"}, packages...)...)
}

// Fences proves that the import fences refuse what the design forbids and that the flows are apart.
func (Lint) Fences(ctx context.Context) error {
	linter, err := toolPath(ctx, "golangci-lint")
	if err != nil {
		return err
	}
	config, err := filepath.Abs(".golangci.yml")
	if err != nil {
		return err
	}
	probes := fences.Probes()
	if err := errors.Join(fences.Check(ctx, linter, config, probes), fences.CheckFlows(ctx, ".")); err != nil {
		return err
	}
	fmt.Printf("import fences hold, %d probes\n", len(probes))
	return nil
}

// Openapi checks the style of the API document and that its examples fit their schemas.
func (Lint) Openapi(ctx context.Context) error {
	return execute(ctx, "go", "test", "./"+reportAPIDir)
}

// House checks licence headers, the length of hand-written files, and that tests look for goroutines that are left over.
func (Lint) House(ctx context.Context) error {
	files, err := repositoryFiles(ctx)
	if err != nil {
		return err
	}
	generated, err := generation().Listed()
	if err != nil {
		return err
	}
	if err := house.Check(".", files, generated); err != nil {
		return err
	}
	fmt.Printf("licence headers and file lengths are fine in %d files\n", len(files))
	checked, err := checkLeaks()
	if err == nil {
		fmt.Printf("%d packages start goroutines, and their tests look for those that are left over\n", checked)
	}
	return err
}
