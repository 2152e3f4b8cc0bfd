// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/milepost-dev/milepost/magefiles/internal/run"
)

// toolModules names the module that pins a tool. Tools that are absent here are pinned in
// magefiles/tools; the large ones have a module of their own because their dependencies would
// otherwise pull each other to versions they were never tested with.
var toolModules = map[string]string{
	"golangci-lint": "magefiles/tools/golangci",
	"hugo":          "magefiles/tools/hugo",
}

// patience is how long something may stay silent before a line says what is going on.
const patience = 3 * time.Second

// execute runs a command in the root of the repository and streams what it prints.
func execute(ctx context.Context, name string, args ...string) error {
	return run.Cmd{}.Run(ctx, name, args...)
}

// executeIn runs a command in a folder of the repository.
func executeIn(ctx context.Context, dir, name string, args ...string) error {
	return run.Cmd{Dir: dir}.Run(ctx, name, args...)
}

// executeWith runs a command in the root of the repository with "KEY=value" pairs on top of the
// environment.
func executeWith(ctx context.Context, env []string, name string, args ...string) error {
	return run.Cmd{Env: env}.Run(ctx, name, args...)
}

// output runs a command in the root of the repository and returns what it printed.
func output(ctx context.Context, name string, args ...string) (string, error) {
	return run.Cmd{}.Output(ctx, name, args...)
}

// tool runs a pinned tool in the root of the repository.
func tool(ctx context.Context, name string, args ...string) error {
	return toolIn(ctx, "", name, args...)
}

// toolIn runs a pinned tool in a folder of the repository.
func toolIn(ctx context.Context, dir, name string, args ...string) error {
	path, err := toolPath(ctx, name)
	if err != nil {
		return err
	}
	return executeIn(ctx, dir, path, args...)
}

// toolPath builds a pinned tool where that has not been done yet and returns its path.
// The workspace is off for the build, so the tool's dependencies stay out of the product's.
func toolPath(ctx context.Context, name string) (string, error) {
	module, ok := toolModules[name]
	if !ok {
		module = "magefiles/tools"
	}
	defer time.AfterFunc(patience, func() {
		fmt.Fprintf(os.Stderr, "building %s; the first time takes a few minutes\n", name)
	}).Stop()
	build := run.Cmd{Dir: module, Env: []string{"GOWORK=off"}, Stderr: os.Stderr}
	path, err := build.Output(ctx, "go", "tool", "-n", name)
	if err != nil {
		return "", fmt.Errorf("building the tool %s pinned in %s/go.mod: %w", name, module, err)
	}
	return path, nil
}

// workspaceModules lists the folders of the modules in go.work, relative to the root.
func workspaceModules(ctx context.Context) ([]string, error) {
	list, err := output(ctx, "go", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return nil, err
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	modules := strings.Fields(list)
	for i, dir := range modules {
		if modules[i], err = filepath.Rel(root, dir); err != nil {
			return nil, err
		}
	}
	return modules, nil
}

// workspacePackages are the patterns of all packages in the workspace.
func workspacePackages(ctx context.Context) ([]string, error) {
	modules, err := workspaceModules(ctx)
	for i, module := range modules {
		modules[i] = "./" + filepath.ToSlash(module) + "/..."
	}
	return modules, err
}

// cacheDir is where finished binaries are kept between runs: $MILEPOST_CACHE, else the folder
// milepost in the user's cache.
func cacheDir() string {
	if dir := os.Getenv("MILEPOST_CACHE"); dir != "" {
		return dir
	}
	if dir, err := os.UserCacheDir(); err == nil {
		return filepath.Join(dir, "milepost")
	}
	return filepath.Join(os.TempDir(), "milepost-cache")
}

// inCI tells whether a missing tool is an error instead of a reason to skip.
func inCI() bool { return os.Getenv("CI") == "true" }

// needNode says in one line what is missing where no node can run: it takes Linux and root.
func needNode(target string) error {
	return nodeError(target, runtime.GOOS, os.Geteuid())
}

func nodeError(target, goos string, uid int) error {
	switch {
	case goos != "linux":
		return fmt.Errorf("%s runs a real node and needs Linux, not %s; `go tool mage demo` works here", target, goos)
	case uid != 0:
		return fmt.Errorf("%s runs a real node and needs root: try sudo env \"PATH=$PATH\" go tool mage %s", target, target)
	}
	return nil
}

// modulePrefix is what every module path of this repository starts with.
const modulePrefix = "github.com/milepost-dev/milepost/"
