// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/milepost-dev/milepost/e2e/infra/binaries"
	"github.com/milepost-dev/milepost/e2e/infra/existing"
	"github.com/milepost-dev/milepost/e2e/infra/modules"
)

const rootHelp = `Make, use and remove the Kubernetes cluster that demos and end-to-end tests run on.

Without further settings the cluster is made on this machine from programs that
are built from their Go modules. That needs Linux and root, but neither Docker
nor a registry. The first start builds everything, which takes ten to fifteen
minutes on two cores; later ones take about ten seconds.

Environment:
  ` + existing.KubeconfigVariable + `  use the cluster of this kubeconfig instead
  ` + existing.LoadVariable + `  command that takes an image archive into that cluster
  ` + modules.StateVariable + `           folder of the cluster's state, ` + modules.DefaultState + ` if unset
  ` + binaries.CacheVariable + `           folder of finished programs and images`

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "cluster",
		Short:         "The Kubernetes cluster of demos and end-to-end tests",
		Long:          rootHelp,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(
		newUpCommand(),
		newDownCommand(),
		newStatusCommand(),
		newExecCommand(),
		newKubeconfigCommand(),
		newLoadImageCommand(),
		newDumpCommand(),
		newSmokeCommand(),
		newBinariesCommand(),
		newImageCommand(),
	)
	return root
}
