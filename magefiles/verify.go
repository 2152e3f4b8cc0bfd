// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/magefile/mage/mg"

	"github.com/milepost-dev/milepost/magefiles/internal/run"
	"github.com/milepost-dev/milepost/magefiles/internal/worksync"
)

// Verify checks that what is derived in this tree matches what it is derived from.
type Verify mg.Namespace

// All regenerates everything, checks the module files and fails when anything was out of date.
func (v Verify) All(ctx context.Context) error {
	return errors.Join(v.Generated(ctx), v.Modules(ctx))
}

// Generated regenerates everything and names each file that was out of date.
func (Verify) Generated(ctx context.Context) error {
	if err := generation().Verify(ctx); err != nil {
		return err
	}
	fmt.Println("generated files are up to date")
	return nil
}

// Modules checks that the module files are tidy and agree with the workspace.
func (Verify) Modules(ctx context.Context) error {
	files, err := repositoryFiles(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(checkTidy(ctx), worksync.Check(ctx, ".", files)); err != nil {
		return err
	}
	fmt.Println("module files are tidy and agree with the workspace")
	return nil
}

// checkTidy looks at every module of the workspace; those that only pin tools are not part of it.
func checkTidy(ctx context.Context) error {
	modules, err := workspaceModules(ctx)
	for _, module := range modules {
		tidy := run.Cmd{Dir: module, Env: []string{"GOWORK=off"}}
		if untidy := tidy.Run(ctx, "go", "mod", "tidy", "-diff"); untidy != nil {
			err = errors.Join(err, fmt.Errorf("%s/go.mod is not tidy, run go mod tidy there: %w", module, untidy))
		}
	}
	return err
}
