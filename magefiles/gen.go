// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/magefile/mage/mg"

	"github.com/milepost-dev/milepost/magefiles/internal/apidoc"
	"github.com/milepost-dev/milepost/magefiles/internal/chartsource"
	"github.com/milepost-dev/milepost/magefiles/internal/gentable"
)

// Gen makes every generated file.
type Gen mg.Namespace

// All runs every task of the generation table and writes the manifest magefiles/generated.txt.
func (Gen) All(ctx context.Context) error {
	table := generation()
	if err := table.Generate(ctx); err != nil {
		return err
	}
	paths, err := table.Listed()
	fmt.Printf("%d tasks, %d generated files\n", len(table.Tasks), len(paths))
	return err
}

// generation is the table of everything that is generated. A new kind of generated file is a new
// row here; `generate` and `verify` need no other change.
func generation() gentable.Table {
	return gentable.Table{
		Root:     ".",
		Manifest: "magefiles/generated.txt",
		Files:    repositoryFiles,
		Tasks: []gentable.Task{
			{
				Name:    "deepcopy",
				Inputs:  []string{apiTypes, "controller/" + goHeader},
				Run:     controllerGen("object:headerFile=" + goHeader),
				Outputs: []string{"controller/api/**/zz_generated.deepcopy.go"},
			},
			{
				Name:    "crd",
				Inputs:  []string{apiTypes, "controller/" + yamlHeader},
				Run:     controllerGen("crd:generateEmbeddedObjectMeta=true,omitToolVersion=true,headerFile="+yamlHeader, "output:crd:dir=config/crd"),
				Outputs: []string{"controller/config/crd/*.yaml"},
			},
			{
				Name:    "applyconfiguration",
				Inputs:  []string{apiTypes, "controller/" + goHeader},
				Run:     controllerGen("applyconfiguration:omitToolVersion=true,externalApplyConfigurations=" + jobSetSpec + ",headerFile=" + goHeader),
				Outputs: []string{"controller/api/applyconfiguration/**/*.go"},
			},
			reportAPI("types"), reportAPI("spec"), reportAPI("server"), reportAPI("client"),
			wireTypes("go", "reporters/go/internal/wire/wire.gen.go"),
			wireTypes("python", "reporters/python/src/milepost/_wire/__init__.py"),
			wireTypes("typescript", "reporters/typescript/src/wire/index.ts"),
			wireTypes("java", "reporters/java/src/generated/java/dev/milepost/reporter/wire/*.java"),
			wireTypes("rust", "reporters/rust/src/wire/mod.rs"),
			{
				Name:    "vectors",
				Inputs:  []string{"openapi/vectors", reporterCodegen},
				Run:     reporterGen("vectors"),
				Outputs: []string{"openapi/vectors/tables.json"},
			},
			{
				Name:    "docs-report-api",
				Inputs:  []string{reportDocument},
				Run:     reportReference,
				Outputs: []string{reportPage},
			},
			chartCRDs(), chartJobSet(), chartReadme(),
			{
				Name:    "docs-chart-values",
				Inputs:  []string{chartDir + "/values.yaml"},
				Run:     chartReference,
				Outputs: []string{chartPage},
			},
		},
	}
}

const (
	apiTypes       = "controller/api/trainer/v1alpha1"
	reportAPIDir   = "controller/internal/reportapi"
	goHeader       = "api/boilerplate.go.txt"   // below controller
	yamlHeader     = "api/boilerplate.yaml.txt" // below controller
	jobSetSpec     = "sigs.k8s.io/jobset/api/jobset/v1alpha2.JobSetSpec@sigs.k8s.io/jobset/client-go/applyconfiguration/jobset/v1alpha2"
	reportPage     = "docs/content/reference/report-api.md"
	chartPage      = "docs/content/reference/chart-values.md"
	reportDocument = "openapi/report/v1alpha1/openapi.yaml"
)

// controllerGen runs the generators of controller-tools over the API types.
func controllerGen(generators ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		return toolIn(ctx, "controller", "controller-gen", append(generators, "paths=./api/...")...)
	}
}

// reportAPI generates one part of the report API from its OpenAPI document.
func reportAPI(part string) gentable.Task {
	settings := part + ".gen.cfg"
	return gentable.Task{
		Name:   "reportapi-" + part,
		Inputs: []string{reportDocument, reportAPIDir + "/" + settings},
		Run: func(ctx context.Context) error {
			return toolIn(ctx, reportAPIDir, "oapi-codegen", "-config", settings, "../../../"+reportDocument)
		},
		Outputs: []string{reportAPIDir + "/" + part + ".gen.go"},
	}
}

// reporterCodegen is the program that makes what reporters share, from templates beside it.
const reporterCodegen = "reporters/conformance/cmd/codegen"

// wireTypes generates the types of the report API in one language.
func wireTypes(language string, outputs ...string) gentable.Task {
	return gentable.Task{
		Name:    "wire-" + language,
		Inputs:  []string{reportDocument, "reporters/codegen/tasks.yaml", "reporters/codegen/" + language, reporterCodegen},
		Run:     reporterGen(language),
		Outputs: outputs,
	}
}

func reporterGen(part string) func(context.Context) error {
	return func(ctx context.Context) error { return execute(ctx, "go", "run", "./"+reporterCodegen, part) }
}

// reportReference makes the reference page of the report API.
func reportReference(context.Context) error {
	return apidoc.Page{Document: reportDocument, Source: reportDocument, Weight: 1}.Write(reportPage)
}

// chartReference makes the reference page of the chart's values.
func chartReference(context.Context) error {
	return chartsource.WritePage(chartDir+"/values.yaml", chartPage)
}

// repositoryFiles lists what is tracked, and what is new and not ignored.
func repositoryFiles(ctx context.Context) ([]string, error) {
	list, err := output(ctx, "git", "ls-files", "--cached", "--others", "--exclude-standard")
	return strings.Split(list, "\n"), err
}
