// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/milepost-dev/milepost/e2e/infra"
	"github.com/milepost-dev/milepost/e2e/infra/modules"
	"github.com/milepost-dev/milepost/e2e/infra/smoke"
)

func newUpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "up",
		Short: "Start the cluster, or keep the one that runs and works",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := infra.New(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return cluster.Up(cmd.Context())
		},
	}
}

func newDownCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Remove the cluster and everything it has left on this machine",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := infra.New(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return cluster.Down(cmd.Context())
		},
	}
}

func newStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say which parts of the cluster run; exit 1 unless it is ready",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := modules.New(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			health, err := cluster.Health(cmd.Context())
			if err != nil {
				return err
			}
			if health.Exists() {
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%skubeconfig %s (usable through `cluster exec`)\nlogs       %s\n",
					health, cluster.Kubeconfig(), cluster.Logs())
			}
			if !health.Ready {
				return fmt.Errorf("the cluster is not ready: %s", health.Reason)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "ready")
			return err
		},
	}
}

func newSmokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "smoke",
		Short: "Check that the cluster can do what the end-to-end suites rely on",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := infra.New(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if err := cluster.Up(cmd.Context()); err != nil {
				return err
			}
			return smoke.Run(cmd.Context(), cluster, cmd.ErrOrStderr())
		},
	}
}
