// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/milepost-dev/milepost/e2e/bench/load"
)

func newLoadCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "load PLAN",
		Short: "Send the reports of a plan and print what became of them",
		Long: `Send the reports of a plan and print what became of them as JSON.

"bench status" starts this as a process of its own, so that the generator's CPU time is told apart
from that of everything else. A plan is a JSON file; with --keep, "bench status" leaves the plans
of its runs behind, and this command repeats one of them while the same server is up.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, err := load.ReadPlan(args[0])
			if err != nil {
				return err
			}
			outcome, err := load.Run(cmd.Context(), plan)
			if err != nil {
				return err
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(outcome)
		},
	}
}
