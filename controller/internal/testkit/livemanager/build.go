// SPDX-License-Identifier: Apache-2.0

package livemanager

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// raceExit is the exit code of a manager in which a data race was found.
const raceExit = 66

// Build compiles the manager into a folder and returns its path.
func Build(ctx context.Context, folder string) (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return "", errors.New("finding the source of the manager: no caller information")
	}
	program := filepath.Join(folder, "manager")
	arguments := append([]string{"build"}, buildFlags()...)
	build := exec.CommandContext(ctx, "go", append(arguments, "-o", program, "./cmd/manager")...) //nolint:gosec // flags of this package
	build.Dir = filepath.Join(filepath.Dir(file), "..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the manager: %w: %s", err, out)
	}
	return program, nil
}

// buildFlags build the manager with the race detector where the tests have it.
func buildFlags() []string {
	if RaceDetector {
		return []string{"-race"}
	}
	return nil
}

// raceEnv ends a manager at its first data race, so that no test passes over it.
func raceEnv() []string {
	return []string{fmt.Sprintf("GORACE=halt_on_error=1 exitcode=%d", raceExit)}
}

// checkRace returns an error for a manager that a data race has ended.
func checkRace(err error, log any) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != raceExit {
		return nil
	}
	return fmt.Errorf("the manager has a data race: %w\n%s", err, raceReport(log))
}

// raceReport is what the detector said, where the log is a file.
func raceReport(log any) string {
	file, ok := log.(*os.File)
	if !ok {
		return ""
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		return err.Error()
	}
	if i := strings.Index(string(text), "WARNING: DATA RACE"); i >= 0 {
		return string(text[i:])
	}
	return ""
}
