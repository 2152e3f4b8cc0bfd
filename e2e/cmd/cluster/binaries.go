// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/milepost-dev/milepost/e2e/infra/binaries"
)

func newBinariesCommand() *cobra.Command {
	var assets bool
	command := &cobra.Command{
		Use:   "binaries [NAME...]",
		Short: "Build programs from their Go modules and print where they are",
		Long: "Print one path per line, in the order of the names. What is missing is built first,\n" +
			"with progress on standard error, and kept in $" + binaries.CacheVariable + " or the user's cache folder.\n\n" +
			"Names: " + strings.Join(binaries.Names(), " "),
		Example: "  cluster binaries kubectl helm4\n  MILEPOST_ENVTEST_ASSETS=$(cluster binaries --assets)",
		Args: func(_ *cobra.Command, names []string) error {
			if assets == (len(names) > 0) {
				return fmt.Errorf("give either names or --assets; names are %s", strings.Join(binaries.Names(), " "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, names []string) error {
			builder, err := binaries.New(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			paths, err := builder.Paths(cmd.Context(), names...)
			if assets {
				var folder string
				folder, err = builder.Assets(cmd.Context())
				paths = []string{folder}
			}
			if err != nil {
				return err
			}
			for _, path := range paths {
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), path); err != nil {
					return err
				}
			}
			return nil
		},
	}
	command.Flags().BoolVar(&assets, "assets", false, "print a folder that holds kube-apiserver, etcd and kubectl, for tests of the API alone")
	return command
}
