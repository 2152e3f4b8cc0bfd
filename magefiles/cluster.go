// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"context"

	"github.com/magefile/mage/mg"
)

// Cluster makes and removes the Kubernetes cluster of demos and end-to-end tests.
type Cluster mg.Namespace

// Up starts a cluster built from Go modules [Linux, root]; one that runs and works is kept.
func (Cluster) Up(ctx context.Context) error {
	if err := needCluster("cluster:up"); err != nil {
		return err
	}
	return execute(ctx, "go", "run", "./e2e/cmd/cluster", "up")
}

// Down removes the cluster and everything it has left on this machine [Linux, root].
func (Cluster) Down(ctx context.Context) error {
	if err := needNode("cluster:down"); err != nil {
		return err
	}
	return execute(ctx, "go", "run", "./e2e/cmd/cluster", "down")
}
