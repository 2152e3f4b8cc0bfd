// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/magefile/mage/mg"
)

// Bench measures how much the product takes.
type Bench mg.Namespace

// benchVariable holds options of the benchmark for which mage has no place on its command line.
const benchVariable = "MILEPOST_BENCH"

// All runs every benchmark, one after the other.
func (b Bench) All(ctx context.Context) error {
	return errors.Join(b.Status(ctx), b.Reporters(ctx, nil))
}

// Status measures the status server beside an echo server and upstream's manager, in half an hour. Options go into $MILEPOST_BENCH: try --help.
func (Bench) Status(ctx context.Context) error {
	return execute(ctx, "go", benchArguments(os.Getenv(benchVariable))...)
}

// Quick shows in two minutes that the benchmark of the status server works.
func (Bench) Quick(ctx context.Context) error {
	return execute(ctx, "go", benchArguments("--quick "+os.Getenv(benchVariable))...)
}

func benchArguments(options string) []string {
	return append([]string{"run", "./e2e/cmd/bench", "status"}, strings.Fields(options)...)
}
