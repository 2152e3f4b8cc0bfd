// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/milepost-dev/milepost/e2e/infra"
	"github.com/milepost-dev/milepost/e2e/infra/binaries"
	"github.com/milepost-dev/milepost/e2e/infra/dump"
)

func newExecCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "exec -- COMMAND [ARGUMENT...]",
		Short: "Run a command that can reach the cluster",
		Long: "Run a command inside the cluster's network with KUBECONFIG set and kubectl on its PATH, and\n" +
			"exit with its code. The names of `cluster binaries`, and helm for helm4, stand for the pinned\n" +
			"programs, which are built if need be.",
		Example: "  cluster exec -- kubectl get pods -A\n  cluster exec -- helm list -A\n  go test -exec 'cluster exec --' ./suite",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, line []string) error {
			cluster, err := infra.New(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if err := cluster.Command(cmd.Context(), "true").Err; err != nil {
				return err // before a build of minutes
			}
			program, err := pinned(cmd.Context(), line[0])
			if err != nil {
				return err
			}
			command := cluster.Command(cmd.Context(), program, line[1:]...)
			if command.Err != nil {
				return command.Err
			}
			// Become the command, so that signals, terminal and exit code are its own.
			return fmt.Errorf("running %s: %w", line[0], syscall.Exec(command.Path, command.Args, command.Env))
		},
	}
}

// pinned replaces the name of a program we build by its path.
func pinned(ctx context.Context, name string) (string, error) {
	if name == "helm" {
		name = "helm4"
	}
	if _, err := binaries.Lookup(name); err != nil {
		return name, nil //nolint:nilerr // any other program is run as it is
	}
	builder, err := binaries.New(os.Stderr)
	if err != nil {
		return "", err
	}
	return builder.Path(ctx, name)
}

func newKubeconfigCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of an administrator's kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := infra.New(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), cluster.Kubeconfig())
			return err
		},
	}
}

func newLoadImageCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "load-image FILE.tar...",
		Short: "Make images available to pods",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, archives []string) error {
			cluster, err := infra.New(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			for _, archive := range archives {
				if err := cluster.LoadImage(cmd.Context(), archive); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func newDumpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "dump FOLDER",
		Short: "Write the cluster's objects, events and logs to a folder",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cluster, err := infra.New(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return dump.Write(cmd.Context(), cluster, args[0])
		},
	}
}
