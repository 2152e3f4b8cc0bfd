// SPDX-License-Identifier: Apache-2.0

// Package fences proves that the import fences in .golangci.yml hold: it shows the linter imports
// that must be refused and imports that must pass.
//
// It owns the probes. It does not own the fences themselves, so a fence that is loosened or
// mistyped is noticed here.
package fences

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/milepost-dev/milepost/magefiles/internal/run"
)

const module = "github.com/milepost-dev/milepost"

// Probe is one import of one package.
type Probe struct {
	Package string // folder below the root of the repository
	Imports string // import path; one that starts with "." lies in this repository
	Refused bool   // whether the fences must refuse it
}

// Check runs the linter over a module of nothing but probes and returns an error for each probe
// that it judges otherwise than expected. Neither the packages nor the imports need to exist.
func Check(ctx context.Context, linter, config string, probes []Probe) error {
	dir, err := os.MkdirTemp("", "fences")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// A module of another name: the imports then lead nowhere and cannot form a cycle.
	if err := write(filepath.Join(dir, "go.mod"), "module probes.test\n\ngo 1.26.0\n"); err != nil {
		return err
	}
	for i, probe := range probes {
		if err := write(filepath.Join(dir, probe.Package, fileName(i)), probe.source()); err != nil {
			return err
		}
	}
	refused, err := lint(ctx, dir, linter, config)
	if err != nil {
		return err
	}
	var problems []error
	for i, probe := range probes {
		if got := slices.Contains(refused, fileName(i)); got != probe.Refused {
			problems = append(problems, probe.problem())
		}
	}
	return errors.Join(problems...)
}

func fileName(i int) string { return fmt.Sprintf("probe%03d.go", i) }

func (p Probe) source() string {
	path := p.Imports
	if rest, ours := strings.CutPrefix(path, "."); ours {
		path = module + rest
	}
	return fmt.Sprintf("package probe\n\nimport _ %q\n", path)
}

func (p Probe) problem() error {
	if p.Refused {
		return fmt.Errorf("%s may import %s: the fence in .golangci.yml has a hole", p.Package, p.Imports)
	}
	return fmt.Errorf("%s may not import %s: the fence in .golangci.yml is too tight", p.Package, p.Imports)
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// lint returns the names of the files that the import fences refuse.
func lint(ctx context.Context, dir, linter, config string) (files []string, err error) {
	cmd := run.Cmd{Dir: dir, Env: []string{"GOWORK=off"}, Stderr: &bytes.Buffer{}}
	out, err := cmd.Output(ctx, linter, "run", "--config", config, "--enable-only", "depguard",
		"--output.json.path", "stdout", "--show-stats=false", "--issues-exit-code=0", "./...")
	if err != nil {
		return nil, err
	}
	var report struct {
		Issues []struct {
			FromLinter, Text string
			Pos              struct{ Filename string }
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		return nil, fmt.Errorf("reading the linter's report: %w", err)
	}
	for _, issue := range report.Issues {
		if issue.FromLinter != "depguard" {
			return nil, fmt.Errorf("the linter could not judge the probes: %s", issue.Text)
		}
		files = append(files, filepath.Base(issue.Pos.Filename))
	}
	return files, nil
}
