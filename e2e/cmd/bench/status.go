// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/milepost-dev/milepost/e2e/bench/result"
	"github.com/milepost-dev/milepost/e2e/bench/runner"
	"github.com/milepost-dev/milepost/e2e/bench/scenario"
)

// errMissed is the end of a benchmark that ran and was not good enough.
var errMissed = errors.New("scenarios missed what they should reach")

const statusHelp = `Measure the status server and compare it with others in the same run.

What it does, unprivileged and on loopback only:
  1. builds what is missing: etcd, kube-apiserver, kube-controller-manager and the JobSet controller
     (several minutes the first time, then cached), our manager, and upstream's v2.3.0
  2. starts a control plane without a node in a private folder
  3. creates TrainJobs, lets the controllers make their pods, and has the API server issue a token
     for each pod, bound to it as in a real cluster
  4. starts one server after the other, sends it the traffic of each scenario from a process of its
     own, watches what is stored, and reads what it cost
  5. stops everything it started, also when interrupted

Servers:
  milepost         our manager, at its defaults
  echo             an HTTPS server in Go that sends every body back: the yardstick
  upstream         Kubeflow Trainer v2.3.0 at its defaults
  upstream-lifted  the same with the limit on its status writes lifted

Scenarios:
%s
A table goes to standard output, progress to standard error. The exit code is 0 when every scenario
reached what it should, 2 when one did not, 1 when something did not work.

Compare figures only within one run: they depend on the machine and on what else it does. Leave it
alone while measuring.`

type statusOptions struct {
	scenarios, servers []string
	jobs               int
	duration           time.Duration
	quick, keep        bool
	json, out, dir     string
}

func newStatusCommand() *cobra.Command {
	var o statusOptions
	command := &cobra.Command{
		Use:   "status",
		Short: "Measure the status server and compare it with others",
		Long:  fmt.Sprintf(statusHelp, describeScenarios()),
		Example: `  bench status                                     everything, about half an hour
  bench status --quick                             a smoke run of two minutes
  bench status --scenario full-speed,offered       two scenarios
  bench status --server milepost,echo --duration 1m
  bench status --json result.json --out result.md`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runStatus(cmd.Context(), &o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&o.scenarios, "scenario", nil, "scenarios to run, separated by commas (default all)")
	flags.StringSliceVar(&o.servers, "server", []string{"echo", "milepost", "upstream", "upstream-lifted"}, "servers to measure")
	flags.IntVar(&o.jobs, "jobs", 0, "TrainJobs of the scenarios that have 200")
	flags.DurationVar(&o.duration, "duration", 0, "length of a run that takes 20 s")
	flags.BoolVar(&o.quick, "quick", false, "small and short: shows that everything works, measures nothing")
	flags.BoolVar(&o.keep, "keep", false, "leave plans, logs and data behind")
	flags.StringVar(&o.json, "json", "", "file for all figures as JSON")
	flags.StringVar(&o.out, "out", "", "file for the table, in addition to standard output")
	flags.StringVar(&o.dir, "dir", "", "folder for plans, logs and data (default a temporary one)")
	return command
}

// describeScenarios lists names and titles for the help text.
func describeScenarios() string {
	var b strings.Builder
	for _, s := range scenario.All(scenario.Full()) {
		fmt.Fprintf(&b, "  %-16s %s\n", s.Name, s.Title)
	}
	return b.String()
}

// size applies the options to the size of all scenarios.
func (o *statusOptions) size() scenario.Size {
	size := scenario.Full()
	if o.quick {
		size = scenario.Quick()
	}
	if o.jobs > 0 {
		size.Jobs = o.jobs
	}
	if o.duration > 0 {
		size.Duration = o.duration
	}
	return size
}

func runStatus(ctx context.Context, o *statusOptions, out, progress io.Writer) error {
	size := o.size()
	chosen, err := scenario.Select(scenario.All(size), o.scenarios)
	if err != nil {
		return err
	}
	servers, err := parseServers(o.servers)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(o.dir, "milepost-bench-")
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	if o.keep {
		defer func() { _, _ = fmt.Fprintf(progress, "plans, logs and data are in %s\n", dir) }()
	} else {
		defer func() { _ = os.RemoveAll(dir) }() // what cannot be removed is in the temporary folder
	}
	tools, err := prepare(ctx, dir, servers, progress)
	if err != nil {
		return err
	}
	conditions := result.CurrentConditions(ctx, tools.root)
	conditions.Versions, conditions.Quick, conditions.Duration = tools.versions, o.quick, size.Duration.Seconds()
	report, err := runner.Run(ctx, tools.config, chosen)
	if report == nil || (err != nil && len(report.Measures) == 0) {
		return err
	}
	report.Conditions = conditions
	if err := errors.Join(err, report.WriteMarkdown(out), writeFiles(o, report)); err != nil {
		return err
	}
	return verdict(o, report)
}

// verdict turns what was found into the exit code.
func verdict(o *statusOptions, report *result.Report) error {
	if n := len(report.Skipped); n > 0 {
		return fmt.Errorf("%d runs did not work", n)
	}
	if missed := report.Missed(); missed > 0 && !o.quick {
		return fmt.Errorf("%d of %d %w", missed, len(report.Verdicts), errMissed)
	}
	return nil
}

func writeFiles(o *statusOptions, report *result.Report) error {
	return errors.Join(writeFile(o.out, report.WriteMarkdown), writeFile(o.json, report.WriteJSON))
}

func writeFile(path string, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

func parseServers(names []string) ([]result.Server, error) {
	known := map[string]result.Server{}
	for _, s := range []result.Server{result.Echo, result.Milepost, result.Upstream, result.UpstreamLifted} {
		known[string(s)] = s
	}
	var servers []result.Server
	for _, name := range names {
		server, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("unknown server %q, known are echo, milepost, upstream and upstream-lifted", name)
		}
		servers = append(servers, server)
	}
	return servers, nil
}
