// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/magefile/mage/mg"
)

// Demo shows what Milepost does.
type Demo mg.Namespace

const afterDemo = `
A neural network learned to read handwritten digits and reported its progress
over HTTPS, as it would from a pod. The TrainJob keeps what it said:
    bin/milepost get digits -o yaml
Your own program can do the same; docs/examples has one in Python, too:
    bin/milepost run -- COMMAND
`

// Local trains on real data below milepost run and shows its progress: half a minute, no cluster, no root.
func (Demo) Local(ctx context.Context) error {
	fmt.Println("building bin/milepost and bin/digits")
	waiting := time.AfterFunc(patience, func() {
		fmt.Fprintln(os.Stderr, "the first build takes a minute or two")
	})
	defer waiting.Stop()
	if err := buildBinary(ctx, "milepost"); err != nil {
		return err
	}
	if err := execute(ctx, "go", "build", "-trimpath", "-o", "bin/digits", "./docs/examples/go/digits"); err != nil {
		return err
	}
	waiting.Stop()
	if err := execute(ctx, "bin/milepost", "run", "--", "bin/digits"); err != nil {
		return err
	}
	fmt.Print(afterDemo)
	return nil
}

// Cluster runs a sample TrainJob on a cluster built from Go modules [root], or on that of $MILEPOST_E2E_KUBECONFIG.
func (Demo) Cluster(ctx context.Context) error {
	if err := needCluster("demo:cluster"); err != nil {
		return err
	}
	return execute(ctx, "go", "run", "./e2e/cmd/demo")
}
