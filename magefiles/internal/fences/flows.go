// SPDX-License-Identifier: Apache-2.0

package fences

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/milepost-dev/milepost/magefiles/internal/run"
)

// The two flows of the controller. Only report values and the leaf reportlink may be seen from
// both sides, and only the manager and the local run put parts together.
var (
	reportFlow = ours("report", "reportapi", "podidentity", "reportrules", "latest", "intake", "statuswriter")
	jobFlow    = ours("trainjob", "runtimeref", "runtimeplan", "mlpolicy", "reporterwiring", "jobsetbuild",
		"jobsetstatus", "admission")
)

// CheckFlows returns an error for each package of one flow that depends on the other flow, also
// through packages in between, which a fence around single files cannot see.
func CheckFlows(ctx context.Context, root string) error {
	return errors.Join(
		apart(ctx, root, jobFlow, reportFlow),
		apart(ctx, root, reportFlow, jobFlow),
	)
}

func apart(ctx context.Context, root string, from, to []string) error {
	var problems []error
	for _, folder := range from {
		if _, err := os.Stat(filepath.Join(root, folder)); err != nil {
			continue // a package of the design that is not written yet
		}
		list, err := run.Cmd{Dir: root}.Output(ctx, "go", "list", "-deps", "-f", "{{.ImportPath}}", "./"+folder+"/...")
		if err != nil {
			return err
		}
		for _, other := range to {
			if met := within(strings.Fields(list), module+"/"+other); met != "" {
				problems = append(problems, fmt.Errorf("%s depends on %s: the report flow and the job flow must not meet", folder, met))
			}
		}
	}
	return errors.Join(problems...)
}

// within returns the first of the import paths that is the package or lies below it.
func within(imports []string, pkg string) string {
	i := slices.IndexFunc(imports, func(path string) bool { return path == pkg || strings.HasPrefix(path, pkg+"/") })
	if i < 0 {
		return ""
	}
	return imports[i]
}
