// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	milepost "github.com/milepost-dev/milepost/reporters/go"
)

// command is what the command line asks for.
type command struct {
	progress, eta float64
	step, total   int64
	metrics       []milepost.Part
	keep          []string
	complete      bool
	fail          string
	follow        string
	interval      time.Duration
	rank          int
	version       bool
	given         map[string]bool // flags that were there
}

// usage has NAME where the name of the program stands.
const usage = `Reports the progress of a training program to Milepost, from inside a TrainJob.

  NAME --progress 45 --eta 120 --metric loss=0.2
  NAME --step 450 --total 1000 --metric loss=0.2 --metric lr=1e-4
  NAME --complete --metric accuracy=0.97
  NAME --fail "out of memory"
  train | NAME --follow -

A report replaces the one before; what it leaves out becomes unknown. Only --complete makes the
training complete. With --follow, lines of JSON are read:

  {"step": 450, "total": 1000, "metrics": {"loss": 0.2, "eval": {"accuracy": 0.9}}}
  {"progress": 45, "eta": 120, "keep": ["loss"]}
  {"complete": true, "metrics": {"accuracy": 0.97}}
  {"fail": "out of memory"}

Flags:
`

func parse(name string, args []string, stderr io.Writer) (command, error) {
	c := command{given: map[string]bool{}}
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Float64Var(&c.progress, "progress", 0, "percent that is done, 0 to 100")
	flags.Float64Var(&c.eta, "eta", 0, "seconds that remain")
	flags.Int64Var(&c.step, "step", 0, "steps that are done")
	flags.Int64Var(&c.total, "total", 0, "steps in all")
	flags.Func("metric", "name=value, any number of times", c.addMetric)
	flags.Func("keep", "name of a metric that must stay when there are more than 256, any number of times", func(name string) error {
		c.keep = append(c.keep, name)
		return nil
	})
	flags.BoolVar(&c.complete, "complete", false, "the training is complete")
	flags.StringVar(&c.fail, "fail", "", "the training failed for this reason; progress stays where it was")
	flags.StringVar(&c.follow, "follow", "", "read reports from a file that grows, or from standard input with -")
	flags.DurationVar(&c.interval, "interval", 0, "least time between two reports of --follow (default 5s)")
	flags.IntVar(&c.rank, "rank", 0, "global rank of this process, instead of that of the environment")
	flags.BoolVar(&c.version, "version", false, "print the version")
	err := flags.Parse(args)
	flags.Visit(func(f *flag.Flag) { c.given[f.Name] = true })
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stderr, strings.ReplaceAll(usage, "NAME", name))
		flags.SetOutput(stderr)
		flags.PrintDefaults()
		return c, flag.ErrHelp
	}
	if err != nil {
		return c, err
	}
	return c, c.check(flags.Args())
}

// addMetric takes name=value. The value is sent as it is written.
func (c *command) addMetric(text string) error {
	name, value, found := strings.Cut(text, "=")
	if !found {
		return errors.New("want name=value")
	}
	c.metrics = append(c.metrics, milepost.Metric(name, value))
	return nil
}

// check finds combinations that make no sense.
func (c *command) check(rest []string) error {
	ends := c.count("complete", "fail", "follow")
	numbers := c.count("progress", "eta", "step", "total")
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%q is too much", rest[0])
	case ends > 1:
		return errors.New("--complete, --fail and --follow exclude each other")
	case ends == 1 && numbers > 0:
		return errors.New("--progress, --eta, --step and --total do not go with --complete, --fail and --follow")
	case c.count("step", "total") == 1:
		return errors.New("--step and --total go together")
	case ends+numbers+len(c.metrics) == 0 && !c.version:
		return errors.New("there is nothing to report; --help says what could be")
	}
	return nil
}

// count tells how many of the flags were there.
func (c *command) count(names ...string) (count int) {
	for _, name := range names {
		if c.given[name] {
			count++
		}
	}
	return count
}

func (c *command) options(log *slog.Logger) []milepost.Option {
	options := []milepost.Option{milepost.WithLogger(log)}
	if c.given["interval"] {
		options = append(options, milepost.WithInterval(c.interval))
	}
	if c.given["rank"] {
		options = append(options, milepost.WithRank(c.rank))
	}
	return options
}

// report makes the one report of the command line.
func (c *command) report(m *milepost.Reporter) {
	parts := slices.Concat(c.metrics, []milepost.Part{milepost.Keep(c.keep...)})
	switch {
	case c.complete:
		m.Complete(parts...)
		return
	case c.given["fail"]:
		m.Fail(errors.New(c.fail))
		return
	}
	if c.given["step"] {
		parts = append(parts, milepost.Step(c.step, c.total))
	}
	if c.given["progress"] {
		parts = append(parts, milepost.Percent(c.progress))
	}
	if c.given["eta"] {
		parts = append(parts, milepost.Remaining(duration(c.eta)))
	}
	m.Report(parts...)
}

// duration is a number of seconds, cut to what a duration holds.
func duration(seconds float64) time.Duration {
	const most = 1 << 33 // more seconds than the wire holds
	if math.IsNaN(seconds) {
		return 0
	}
	return time.Duration(min(max(seconds, -1), most) * float64(time.Second))
}
