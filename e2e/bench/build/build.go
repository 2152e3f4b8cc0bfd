// SPDX-License-Identifier: Apache-2.0

// Package build compiles the two managers that a benchmark compares.
//
// It owns where the results lie: upstream's in the cache, by version, since it never changes; ours
// where the caller says, since it always does. It does not own the programs of Kubernetes, which
// e2e/infra/binaries builds.
package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/milepost-dev/milepost/e2e/infra/binaries"
)

const (
	upstreamModule  = "github.com/kubeflow/trainer/v2"
	upstreamProgram = "trainer-controller-manager"
)

// Root is the root of the repository around the current folder.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("looking for the repository: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(dir, "go.work"))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("looking for the repository: %w", err)
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.work in %s or above it: run this inside the repository", start)
		}
	}
}

// UpstreamManager is a build of upstream's manager.
type UpstreamManager struct {
	Path    string // program
	Version string
	Module  string // folder with the module's manifests
}

// Upstream compiles upstream's manager from its module, once for each version.
func Upstream(ctx context.Context, progress io.Writer) (UpstreamManager, error) {
	root, err := Root()
	if err != nil {
		return UpstreamManager{}, err
	}
	pinned := source{
		dir: filepath.Join(root, "e2e", "bench", "upstream", "module"),
		pkg: upstreamModule + "/cmd/" + upstreamProgram, alone: true,
	}
	version, err := goTool(ctx, pinned, progress, "list", "-m", "-f", "{{.Version}}", upstreamModule)
	if err != nil {
		return UpstreamManager{}, err
	}
	module, err := moduleDir(ctx, pinned, upstreamModule, progress)
	if err != nil {
		return UpstreamManager{}, err
	}
	u := UpstreamManager{Version: version, Module: module}
	cache, err := binaries.CacheDir()
	if err != nil {
		return UpstreamManager{}, err
	}
	u.Path = filepath.Join(cache, "bin", upstreamProgram+"-"+u.Version, upstreamProgram)
	if _, err := os.Stat(u.Path); err == nil {
		return u, nil
	}
	_, _ = fmt.Fprintf(progress, "building %s %s, only this once; takes about 70 s on two idle cores\n", upstreamProgram, u.Version)
	return u, compile(ctx, pinned, u.Path, progress)
}

// moduleDir is the folder of a module that the source pins. It is downloaded if necessary.
func moduleDir(ctx context.Context, from source, module string, progress io.Writer) (string, error) {
	if _, err := goTool(ctx, from, progress, "mod", "download", module); err != nil {
		return "", err
	}
	return goTool(ctx, from, progress, "list", "-m", "-f", "{{.Dir}}", module)
}

// Milepost compiles our manager into dir and returns its path.
func Milepost(ctx context.Context, dir string, progress io.Writer) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "manager")
	return path, compile(ctx, source{dir: root, pkg: "./controller/cmd/manager"}, path, progress)
}

// compile builds into a temporary file and renames it, so that an interrupted build leaves nothing
// that looks finished.
func compile(ctx context.Context, from source, target string, progress io.Writer) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return fmt.Errorf("building %s: %w", from.pkg, err)
	}
	unfinished := fmt.Sprintf("%s.%d.tmp", target, os.Getpid())
	defer func() { _ = os.Remove(unfinished) }() // absent after success
	if _, err := goTool(ctx, from, progress, "build", "-trimpath", "-ldflags=-s -w", "-o", unfinished, from.pkg); err != nil {
		return err
	}
	return os.Rename(unfinished, target)
}

// source is where a program comes from.
type source struct {
	dir   string
	pkg   string
	alone bool // the module is no part of the workspace
}

// goTool runs the go command in the folder of a source and returns what it printed.
func goTool(ctx context.Context, from source, progress io.Writer, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = from.dir
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if from.alone {
		command.Env = append(command.Env, "GOWORK=off")
	}
	command.Stderr = progress
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("running go %s in %s: %w", args[0], from.dir, err)
	}
	return strings.TrimSpace(string(out)), nil
}
