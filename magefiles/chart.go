// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/magefile/mage/mg"

	"github.com/milepost-dev/milepost/magefiles/internal/chartsource"
	"github.com/milepost-dev/milepost/magefiles/internal/gentable"
	"github.com/milepost-dev/milepost/magefiles/internal/run"
	"github.com/milepost-dev/milepost/magefiles/internal/testcount"
)

// Chart checks the Helm chart.
type Chart mg.Namespace

const (
	chartDir     = "charts/milepost"
	chartCRDDir  = chartDir + "/templates/crd"
	chartSuite   = "./e2e/chart/..."
	crdDir       = "controller/config/crd"
	jobSetModule = "sigs.k8s.io/jobset"
)

// helms are the versions of Helm that the chart has to work with.
var helms = []string{"helm3", "helm4"}

// Lint runs helm lint --strict with Helm 3 and 4 over every set of values in the chart's ci folder.
func (Chart) Lint(ctx context.Context) (err error) {
	files, globErr := filepath.Glob(chartDir + "/ci/*.yaml")
	if globErr != nil || len(files) == 0 {
		return errors.Join(errors.New("no values to lint with"), globErr)
	}
	for _, helm := range helms {
		program, buildErr := helmPath(ctx, helm)
		if buildErr != nil {
			return buildErr
		}
		for _, values := range files {
			err = errors.Join(err, execute(ctx, program, "lint", "--strict", "--quiet", chartDir, "--values", values))
		}
	}
	return err
}

// Test lints the chart, renders it with both Helms, and installs, upgrades and removes it on a real API server.
func (c Chart) Test(ctx context.Context) error {
	if err := errors.Join(c.Lint(ctx), buildAssets(ctx)); err != nil {
		return err
	}
	for _, helm := range helms {
		program, err := helmPath(ctx, helm)
		if err != nil {
			return err
		}
		if err := os.Setenv("MILEPOST_"+strings.ToUpper(helm), program); err != nil {
			return err
		}
	}
	opts := testcount.Options{Out: os.Stdout, TrimPrefix: modulePrefix}
	return closing(testcount.GoTest(ctx, run.Cmd{}, opts, []string{"-count=1"}, []string{chartSuite}))
}

// helmPath builds Helm where that has not been done yet.
func helmPath(ctx context.Context, name string) (string, error) {
	program, err := run.Cmd{Stderr: os.Stderr}.Output(ctx, "go", "run", "./e2e/cmd/cluster", "binaries", name)
	return strings.TrimSpace(program), err
}

// chartCRDs makes templates of our CRDs and of JobSet's.
func chartCRDs() gentable.Task {
	const ours = ".Values.crds.enabled"
	crds := []chartsource.CRD{
		{Source: crdDir + "/trainer.kubeflow.org_trainjobs.yaml", Condition: ours},
		{Source: crdDir + "/trainer.kubeflow.org_trainingruntimes.yaml", Condition: ours, Slim: true},
		{Source: crdDir + "/trainer.kubeflow.org_clustertrainingruntimes.yaml", Condition: ours, Slim: true},
		{Source: chartsource.JobSetCRD, Condition: "and .Values.crds.enabled .Values.jobset.install", Slim: true},
	}
	return gentable.Task{
		Name:    "chart-crd",
		Inputs:  []string{crdDir},
		Outputs: []string{chartCRDDir + "/*.yaml"},
		Run: func(ctx context.Context) (err error) {
			module, findErr := findModule(ctx, jobSetModule)
			if findErr != nil {
				return findErr
			}
			for _, crd := range crds {
				crd.Target = path.Join(chartCRDDir, path.Base(crd.Source))
				if crd.Source == chartsource.JobSetCRD {
					crd.Source = filepath.Join(module.Dir, crd.Source)
				}
				err = errors.Join(err, crd.Write())
			}
			return err
		},
	}
}

// chartJobSet copies JobSet's chart, so that a clone installs without a chart registry.
func chartJobSet() gentable.Task {
	const target = chartDir + "/charts/jobset"
	return gentable.Task{
		Name:     "chart-jobset",
		Inputs:   []string{"controller/go.mod"},
		Outputs:  []string{target + "/**/*"},
		Unmarked: true,
		Run: func(ctx context.Context) error {
			module, err := findModule(ctx, jobSetModule)
			if err != nil {
				return err
			}
			return chartsource.VendorJobSet(module.Dir, module.Version, target)
		},
	}
}

// chartReadme adds a table of all values to the chart's README.
func chartReadme() gentable.Task {
	const values, source, target = chartDir + "/values.yaml", chartDir + "/README.md.gotmpl", chartDir + "/README.md"
	return gentable.Task{
		Name:    "chart-readme",
		Inputs:  []string{values, source},
		Outputs: []string{target},
		Run:     func(context.Context) error { return chartsource.WriteReadme(values, source, target) },
	}
}

// goModule is what the go command says of a module.
type goModule struct{ Dir, Version string }

// findModule downloads a module at the version that the controller requires, and says where it lies.
func findModule(ctx context.Context, name string) (found goModule, err error) {
	download := run.Cmd{Dir: "controller", Env: []string{"GOWORK=off"}, Stderr: os.Stderr}
	text, err := download.Output(ctx, "go", "mod", "download", "-json", name)
	if err != nil {
		return found, err
	}
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return found, fmt.Errorf("reading where module %s lies: %w", name, err)
	}
	return found, nil
}
