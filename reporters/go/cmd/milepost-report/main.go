// SPDX-License-Identifier: Apache-2.0

// Command milepost-report reports for training programs in any language:
//
//	milepost-report --progress 45 --eta 120 --metric loss=0.2
//	milepost-report --complete --metric accuracy=0.97
//	train | milepost-report --follow -
//
// Outside a TrainJob it does nothing. It never fails because a report does not arrive: the exit
// code is 0, or 2 when it was called the wrong way.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	milepost "github.com/milepost-dev/milepost/reporters/go"
)

// version is set when a release is built.
var version = milepost.Version

const (
	exitFine  = 0
	exitUsage = 2
)

func main() { os.Exit(run(filepath.Base(os.Args[0]), os.Args[1:], os.Stdin, os.Stderr)) }

// run is main with its ends given. It goes by the name that it was called by, which may be
// "milepost report".
func run(name string, args []string, stdin io.Reader, stderr io.Writer) int {
	c, err := parse(name, args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitFine
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return exitUsage
	case c.version:
		fmt.Fprintln(stderr, name, version)
		return exitFine
	}
	m := milepost.Start(c.options(slog.New(slog.NewTextHandler(stderr, nil)))...)
	defer m.Close()
	if c.follow != "" {
		return follow(m, c.follow, stdin, func(err error) {
			fmt.Fprintf(stderr, "%s: passing over lines that are no report, such as one where %v\n", name, err)
		})
	}
	c.report(m)
	return exitFine
}
