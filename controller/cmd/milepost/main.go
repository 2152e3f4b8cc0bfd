// SPDX-License-Identifier: Apache-2.0

// Command milepost runs training code and shows how far it is. It is also
// installed as kubectl-trainjob, which makes it `kubectl trainjob`.
//
// It owns the process and nothing else: the command line is in internal/cli.
package main

import (
	"context"
	"os"
	"slices"

	"github.com/milepost-dev/milepost/controller/internal/cli"
)

// version is set when a release is built.
var version = "dev"

func main() {
	program := &cli.Program{
		Version: version, Args: slices.Clone(os.Args), Environ: os.Environ(),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
	os.Exit(program.Main(context.Background()))
}
