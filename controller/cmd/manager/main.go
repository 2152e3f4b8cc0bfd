// SPDX-License-Identifier: Apache-2.0

// Command manager runs the controller: it turns TrainJobs into JobSets, serves the endpoint that
// training pods report their progress to, and keeps TrainJob status true.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"go.uber.org/zap/zapcore"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/milepost-dev/milepost/controller/internal/config"
	"github.com/milepost-dev/milepost/controller/internal/features"
	"github.com/milepost-dev/milepost/controller/internal/manager"
)

// version is set by the linker.
var version = "dev"

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "manager: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("manager", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintf(stderr, "Usage: manager [--config FILE] [--feature-gates GATE=true|false,…]\n\n"+
			"Runs the Milepost controller: TrainJobs become JobSets, and with the gate TrainJobStatus\n"+
			"training pods report progress into TrainJob.status.trainerStatus.\n\n"+
			"The cluster is the one the process runs in, else that of --kubeconfig or KUBECONFIG.\n\nFlags:\n")
		flags.PrintDefaults()
	}
	configFile := flags.String("config", "", "`file` with a config.trainer.kubeflow.org/v1alpha1 Configuration; without it every value has its default")
	gateList := flags.String("feature-gates", "", "comma-separated `gate=bool` pairs; a gate named here wins over the configuration file (known: TrainJobStatus, off by default)")
	runtimes := flags.String("runtimes", "", "`folder` with ClusterTrainingRuntimes to install, one in each YAML file; those made earlier and gone from it are removed")
	showVersion := flags.Bool("version", false, "print the version and exit")
	if kubeconfig := flag.Lookup("kubeconfig"); kubeconfig != nil {
		flags.Var(kubeconfig.Value, kubeconfig.Name, "`file` that says how to reach the cluster; only needed outside of it")
	}
	logging := zap.Options{TimeEncoder: zapcore.RFC3339NanoTimeEncoder}
	logging.BindFlags(flags)
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case *showVersion:
		fmt.Println(version)
		return nil
	}
	cfg, err := config.Load(*configFile)
	if err != nil {
		return err
	}
	gates, err := features.Resolve(cfg.FeatureGates, *gateList)
	if err != nil {
		return err
	}
	// Before there is a logger: what goes wrong here is said once, by the error.
	cluster, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding a cluster: %w; run inside one or set KUBECONFIG", err)
	}
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logging)))
	return manager.Run(ctrl.SetupSignalHandler(), manager.Options{
		Config: cfg, Gates: gates, Cluster: cluster, Version: version, Log: ctrl.Log, Runtimes: *runtimes,
	})
}
