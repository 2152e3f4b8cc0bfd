// SPDX-License-Identifier: Apache-2.0

// Command cluster makes and removes the Kubernetes cluster that demos and
// end-to-end tests run on, and builds the programs and images it needs.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := newRootCommand().ExecuteContext(ctx)
	if err == nil {
		return
	}
	stop()
	os.Exit(exitCode(err))
}

// exitCode reports err, unless it is the exit of a command run on somebody's
// behalf, which has said all there is to say and whose code is passed on.
func exitCode(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		return exit.ExitCode()
	}
	fmt.Fprintln(os.Stderr, "cluster:", err)
	return 1
}
