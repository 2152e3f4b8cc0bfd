// SPDX-License-Identifier: Apache-2.0

// Command demo shows Milepost on a real cluster: it brings a cluster up, installs the chart,
// submits a sample TrainJob and prints how the job gets on until it is finished.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/milepost-dev/milepost/e2e/testbed"
)

const sample = "docs/examples/manifests/digits.yaml"

func main() {
	code, err := run()
	if err != nil {
		fmt.Fprintf(os.Stderr, "demo: %v\n", err)
	}
	os.Exit(code)
}

func run() (int, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if !testbed.Inside() {
		images := testbed.DefaultImages()
		images.Python = "" // the sample is in Go, so that the demo needs nothing else
		return testbed.Enter(ctx, os.Stderr, images, testbed.Helm4)
	}
	bed, err := testbed.Connect(ctx)
	if err != nil {
		return 1, err
	}
	if err := show(ctx, bed, os.Stdout); err != nil {
		return 1, err
	}
	return 0, nil
}
