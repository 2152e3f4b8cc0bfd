// SPDX-License-Identifier: Apache-2.0

// Command frameworkbench measures what ways of reporting cost training loops in Python: no reporter, ours, the function of
// the Kubeflow SDK and the callback of Transformers, with a live, a slow and a dead endpoint.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/milepost-dev/milepost/reporters/conformance/internal/overhead"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "frameworkbench:", err)
		os.Exit(1)
	}
}

func run() error {
	options := overhead.Options{Out: os.Stderr}
	flag.StringVar(&options.Python, "python", "python3", "interpreter with the packages that are compared")
	flag.StringVar(&options.Script, "script", "reporters/python/frameworks/overhead.py", "the training loops")
	flag.Float64Var(&options.Seconds, "seconds", 20, "seconds of training in each measurement")
	flag.IntVar(&options.Rounds, "rounds", 3, "how often each measurement is made")
	loops := flag.String("loop", "", "plain or trainer; both when empty")
	table := flag.String("out", "", "file that gets the table, too")
	numbers := flag.String("json", "", "file that gets every measurement as JSON")
	flag.Parse()
	if *loops != "" {
		options.Loops = strings.Split(*loops, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	measured, err := overhead.Measure(ctx, options)
	if err != nil {
		return err
	}
	return errors.Join(measured.Markdown(os.Stdout), save(*table, measured), saveNumbers(*numbers, measured))
}

func save(path string, run overhead.Run) (err error) {
	if path == "" {
		return nil
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return run.Markdown(file)
}

func saveNumbers(path string, run overhead.Run) error {
	if path == "" {
		return nil
	}
	text, err := json.MarshalIndent(run, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
