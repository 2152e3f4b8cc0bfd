// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"context"
	"fmt"

	"github.com/magefile/mage/mg"
)

// Image makes container images, without Docker.
type Image mg.Namespace

// controllerArchive is where the image of the controller is written.
const controllerArchive = "bin/trainer-controller-manager.tar"

// Controller writes the image of the controller manager to bin/trainer-controller-manager.tar.
func (Image) Controller(ctx context.Context) error {
	if err := execute(ctx, "go", "run", "./e2e/cmd/cluster", "image", "controller", "--output", controllerArchive); err != nil {
		return err
	}
	fmt.Println("built", controllerArchive)
	return nil
}
