// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"context"
	"fmt"
	"os"

	"github.com/magefile/mage/mg"

	"github.com/milepost-dev/milepost/magefiles/internal/run"
	"github.com/milepost-dev/milepost/magefiles/internal/testcount"
)

// E2e runs the end-to-end suites on a real cluster.
type E2e mg.Namespace

// clusterVariable names the kubeconfig of a cluster to use instead of one of our own.
const clusterVariable = "MILEPOST_E2E_KUBECONFIG"

// All runs every suite on a cluster built from Go modules [root], or on that of $MILEPOST_E2E_KUBECONFIG.
func (E2e) All(ctx context.Context) error { return runE2e(ctx, "e2e", "./e2e/suites/...") }

// Suite runs one suite, a folder of e2e/suites, like All does [root].
func (E2e) Suite(ctx context.Context, name string) error {
	return runE2e(ctx, "e2e", "./e2e/suites/"+name)
}

// runE2e runs the suites of a build tag one after the other, since they share a cluster, and shows all they say.
func runE2e(ctx context.Context, tag, packages string) error {
	if err := needCluster("e2e"); err != nil {
		return err
	}
	flags := []string{"-tags=" + tag, "-p=1", "-count=1", "-timeout=60m"}
	opts := testcount.Options{Out: os.Stdout, TrimPrefix: modulePrefix, Live: true}
	return closing(testcount.GoTest(ctx, run.Cmd{}, opts, flags, []string{packages, "-ginkgo.v", "-ginkgo.no-color"}))
}

// needCluster says in one line what is missing for a cluster, and before a long wait what it is for.
func needCluster(target string) error {
	if os.Getenv(clusterVariable) != "" {
		return nil
	}
	if err := needNode(target); err != nil {
		return err
	}
	fmt.Println("The cluster is built from Go modules, which are kept in " + cacheDir() +
		". The first time this takes about 12 minutes.")
	return nil
}
