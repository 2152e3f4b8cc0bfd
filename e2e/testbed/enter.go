// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/milepost-dev/milepost/e2e/infra"
	"github.com/milepost-dev/milepost/e2e/infra/binaries"
)

// What a process that Enter has put into the cluster's network finds in its environment.
const (
	// insideVariable is set there and nowhere else.
	insideVariable = "MILEPOST_TESTBED_INSIDE"
	// logsVariable is the folder with the logs of the cluster's components.
	logsVariable = "MILEPOST_TESTBED_LOGS"
	// managerVariable identifies the content of the manager's image.
	managerVariable = "MILEPOST_TESTBED_MANAGER"
)

// Main runs the tests of a suite: it brings the cluster up, loads the images, and runs the test
// binary once more from where the cluster can be reached. Call it from TestMain.
func Main(m *testing.M, preparations ...Preparation) {
	if Inside() {
		os.Exit(m.Run())
	}
	code, err := enterSuite(preparations)
	if err != nil {
		fmt.Fprintf(os.Stderr, "testbed: %v\n", err)
	}
	os.Exit(code)
}

func enterSuite(preparations []Preparation) (int, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return enter(ctx, os.Stderr, DefaultImages(), preparations, []Helm{Helm3, Helm4})
}

// Inside tells whether this process can reach the cluster: Enter has started it.
func Inside() bool { return os.Getenv(insideVariable) != "" }

// Enter prepares the cluster and runs this program again, with the same arguments, from where the
// cluster can be reached, with kubectl and the given versions of Helm on its PATH. It returns the
// exit code of that run. What takes long is told to progress.
func Enter(ctx context.Context, progress io.Writer, images Images, helms ...Helm) (int, error) {
	return enter(ctx, progress, images, nil, helms)
}

func enter(ctx context.Context, progress io.Writer, images Images, preparations []Preparation, helms []Helm) (int, error) {
	cluster, err := infra.New(progress)
	if err != nil {
		return 1, err
	}
	if err := cluster.Up(ctx); err != nil {
		return 1, fmt.Errorf("bringing the cluster up: %w", err)
	}
	tools, err := tools(ctx, progress, helms)
	if err != nil {
		return 1, err
	}
	manager, err := images.load(ctx, cluster, progress)
	if err != nil {
		return 1, err
	}
	variables, err := prepare(ctx, cluster, progress, preparations)
	if err != nil {
		return 1, err
	}
	self, err := os.Executable()
	if err != nil {
		return 1, fmt.Errorf("finding this program: %w", err)
	}
	// Not bound to ctx: a signal reaches the whole process group, and the run inside then ends
	// after its own cleaning up.
	command := cluster.Command(context.WithoutCancel(ctx), self, os.Args[1:]...)
	command.Env = append(command.Env, insideVariable+"=1", logsVariable+"="+cluster.Logs(), managerVariable+"="+manager,
		"PATH="+tools+string(os.PathListSeparator)+pathOf(command.Env))
	command.Env = append(command.Env, variables...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = command.Run()
	if exit := (&exec.ExitError{}); errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 1, fmt.Errorf("running inside the cluster's network: %w", err)
	}
	return 0, nil
}

// tools is a folder with kubectl and the versions of Helm.
func tools(ctx context.Context, progress io.Writer, helms []Helm) (string, error) {
	builder, err := binaries.New(progress)
	if err != nil {
		return "", err
	}
	names := []string{"kubectl"}
	for _, helm := range helms {
		names = append(names, string(helm))
	}
	return builder.Folder(ctx, strings.Join(names, "-"), names...)
}

// pathOf is the value of PATH in an environment, where the last one counts.
func pathOf(environment []string) string {
	for _, variable := range slices.Backward(environment) {
		if value, ok := strings.CutPrefix(variable, "PATH="); ok {
			return value
		}
	}
	return ""
}
