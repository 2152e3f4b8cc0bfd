// SPDX-License-Identifier: Apache-2.0

// Command reporterconformance checks that reporters do what reporters/BEHAVIOUR.md says. It starts
// the executor of each language as a process and plays the status server over real TLS.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/milepost-dev/milepost/reporters/conformance/internal/runner"
)

func main() { os.Exit(run()) }

// run is main with an exit code: 1 when a case failed, 2 when cases could not be run.
func run() int {
	root := flag.String("root", ".", "root of the repository")
	languages := flag.String("language", "", "languages, separated by commas; all when empty")
	cases := flag.String("case", "", "beginnings of the ids of cases, separated by commas; all when empty")
	parallel := flag.Int("parallel", 3, "cases at the same time")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	good, bad, skipped, err := runner.Run(ctx, runner.Options{
		Root:      *root,
		Languages: list(*languages),
		Cases:     list(*cases),
		Parallel:  *parallel,
		Strict:    os.Getenv("CI") == "true",
		Out:       os.Stdout,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "reporterconformance:", err)
		return 2
	}
	fmt.Printf("\n%d passed, %d failed, %d skipped\n", good, bad, skipped)
	if bad > 0 || good == 0 {
		return 1
	}
	return 0
}

func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}
