// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/spf13/cobra"

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "cluster",
		Short:         "The Kubernetes cluster of demos and end-to-end tests",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newBinariesCommand())
	return root
}
