// SPDX-License-Identifier: Apache-2.0

// Command reporterbench measures what reporters cost a training program: a call of report in front
// of a live, a slow and a dead endpoint, and the end of the program. Its exit code is 1 when a call
// costs more than 50 microseconds at the 99th percentile or an end takes more than 6 seconds.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/milepost-dev/milepost/reporters/conformance/internal/runner"
)

const (
	mostPerCall = 50 // microseconds, D11
	mostForEnd  = 6  // seconds, D24
)

func main() { os.Exit(run()) }

func run() int {
	root := flag.String("root", ".", "root of the repository")
	languages := flag.String("language", "", "languages, separated by commas; all when empty")
	file := flag.String("json", "", "file that gets the numbers as JSON")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	options := runner.Options{Root: *root, Out: os.Stdout}
	if *languages != "" {
		options.Languages = strings.Split(*languages, ",")
	}
	costs, err := runner.Costs(ctx, options)
	if err == nil && *file != "" {
		err = save(*file, costs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reporterbench:", err)
		return 2
	}
	runner.PrintCosts(os.Stdout, costs)
	return verdict(costs)
}

func verdict(costs []runner.Cost) (code int) {
	for _, c := range costs {
		if c.P99 > mostPerCall || c.Exit > mostForEnd {
			fmt.Printf("%s with a %s endpoint is over %d µs per call or %d s at its end\n", c.Language, c.Endpoint, mostPerCall, mostForEnd)
			code = 1
		}
	}
	return code
}

func save(file string, costs []runner.Cost) error {
	text, err := json.MarshalIndent(costs, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
