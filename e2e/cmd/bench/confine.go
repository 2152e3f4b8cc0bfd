// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/milepost-dev/milepost/e2e/bench/confine"
)

func newConfineCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "confine PLAN",
		Short:  "Start a program that finds its own files at fixed places",
		Hidden: true, // only of use to "bench status", which gives it a mount table of its own
		Args:   cobra.ExactArgs(1),
		RunE:   func(_ *cobra.Command, args []string) error { return confine.Exec(args[0]) },
	}
}
