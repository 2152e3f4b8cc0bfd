// SPDX-License-Identifier: Apache-2.0

package testcount

import (
	"context"
	"io"
	"strings"

	"github.com/milepost-dev/milepost/magefiles/internal/run"
)

// GoTest runs `go test` with the given arguments and packages in the folder of cmd and counts
// what it reports. Failed tests are in the result, not in the error.
func GoTest(ctx context.Context, cmd run.Cmd, opts Options, flags, packages []string) (Result, error) {
	opts.Total = countTested(ctx, cmd, flags, packages)
	events, feed := io.Pipe()
	cmd.Stdout = feed
	ended := make(chan error, 1)
	go func() {
		args := append([]string{"test", "-json"}, flags...)
		err := cmd.Run(ctx, "go", append(args, packages...)...)
		_ = feed.Close()
		ended <- err
	}()
	result, err := Read(events, opts)
	_ = events.Close() // lets the command end when reading stopped early
	runErr := <-ended
	if err == nil && result.Failed == 0 {
		err = runErr // nothing failed that was counted, and still go test was not content
	}
	return result, err
}

// countTested tells how many packages go test will report on, 0 where that cannot be told.
func countTested(ctx context.Context, cmd run.Cmd, flags, packages []string) int {
	args := []string{"list", "-f", "{{.ImportPath}}"}
	for _, flag := range flags {
		if strings.HasPrefix(flag, "-tags") {
			args = append(args, flag)
		}
	}
	cmd.Stderr = io.Discard // go test tells the same complaint
	names, err := cmd.Output(ctx, "go", append(args, packages...)...)
	if err != nil {
		return 0
	}
	return len(strings.Fields(names))
}
