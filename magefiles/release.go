// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"context"
	"fmt"

	"github.com/magefile/mage/mg"

	"github.com/milepost-dev/milepost/magefiles/internal/release"
)

// Release prepares releases.
type Release mg.Namespace

// Check checks that chart, changelogs, report API and tag state the same versions and that licences are stated.
func (Release) Check(ctx context.Context) error {
	tag, err := output(ctx, "git", "describe", "--tags", "--exact-match")
	if err != nil {
		tag = "" // the commit has no tag, or this is no checkout
	}
	if err := release.Check(".", tag); err != nil {
		return err
	}
	fmt.Println("versions agree")
	return Lint{}.House(ctx)
}
