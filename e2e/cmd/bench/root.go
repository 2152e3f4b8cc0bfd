// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/spf13/cobra"

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "bench",
		Short:         "Measure the status server",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newStatusCommand(), newLoadCommand(), newEchoCommand(), newConfineCommand())
	return root
}
