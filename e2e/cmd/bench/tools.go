// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/milepost-dev/milepost/e2e/bench/build"
	"github.com/milepost-dev/milepost/e2e/bench/controlplane"
	"github.com/milepost-dev/milepost/e2e/bench/milepost"
	"github.com/milepost-dev/milepost/e2e/bench/result"
	"github.com/milepost-dev/milepost/e2e/bench/runner"
	"github.com/milepost-dev/milepost/e2e/infra/binaries"
)

// tools is what a run needs from outside of it.
type tools struct {
	config   runner.Config
	root     string // of the repository
	versions map[string]string
}

// prepare builds what is missing.
func prepare(ctx context.Context, dir string, servers []result.Server, progress io.Writer) (*tools, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("measuring needs Linux: what a server costs is read from /proc")
	}
	root, err := build.Root()
	if err != nil {
		return nil, err
	}
	bench, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("looking for this program: %w", err)
	}
	start := time.Now()
	t := &tools{root: root, versions: map[string]string{}, config: runner.Config{
		Bench: bench, Dir: dir, Servers: servers,
		Log: func(format string, args ...any) {
			_, _ = fmt.Fprintf(progress, "%6.0fs  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
		},
	}}
	if err := t.kubernetes(ctx, progress); err != nil {
		return nil, err
	}
	if slices.Contains(servers, result.Milepost) {
		t.config.Log("building our manager")
		if t.config.Milepost.Program, err = build.Milepost(ctx, dir, progress); err != nil {
			return nil, err
		}
		t.config.Milepost.Root = root
	}
	if slices.Contains(servers, result.Upstream) || slices.Contains(servers, result.UpstreamLifted) {
		if t.config.Upstream, err = build.Upstream(ctx, progress); err != nil {
			return nil, err
		}
		t.versions["kubeflow/trainer"] = t.config.Upstream.Version
	}
	return t, nil
}

// kubernetes provides the programs of the control plane, and helm.
func (t *tools) kubernetes(ctx context.Context, progress io.Writer) error {
	builder, err := binaries.New(progress)
	if err != nil {
		return err
	}
	names := []string{"etcd", "kube-apiserver", "kube-controller-manager", "jobset", "helm4"}
	paths, err := builder.Paths(ctx, names...)
	if err != nil {
		return err
	}
	for _, name := range names[:4] {
		if t.versions[name], err = builder.Version(name); err != nil {
			return err
		}
	}
	module, err := builder.Source(ctx, "jobset")
	if err != nil {
		return err
	}
	t.config.Plane = controlplane.Config{
		Etcd: paths[0], APIServer: paths[1], ControllerManager: paths[2], JobSet: paths[3], JobSetModule: module,
	}
	t.config.Milepost = milepost.Config{Helm: filepath.Clean(paths[4])}
	return nil
}
