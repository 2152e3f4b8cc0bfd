// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// reportWith runs `milepost report` with arguments and a PATH, and a stand-in for the program that
// reports: it prints how it was called and ends with a code of its own.
func reportWith(t *testing.T, path string, args ...string) (said string, code int) {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), own, append([]string{"report"}, args...)...)
	cmd.Env = []string{roleVariable + "=milepost", "PATH=" + path}
	cmd.Stdin = strings.NewReader("from the pipe")
	text, err := cmd.CombinedOutput()
	if ended, ok := err.(*exec.ExitError); ok { //nolint:errorlint // it is not wrapped
		return string(text), ended.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text), 0
}

func TestReportBecomesTheProgramThatReports(t *testing.T) {
	folder := t.TempDir()
	standIn := "#!/bin/sh\nprintf '[%s]' \"$@\"\nread -r line\nprintf ' %s' \"$line\"\nexit 7\n"
	if err := os.WriteFile(filepath.Join(folder, reporterFile), []byte(standIn), 0o700); err != nil {
		t.Fatal(err)
	}
	said, code := reportWith(t, folder+":/usr/bin:/bin", "--progress", "45", "--metric", "a b=c", "--help")
	if want := "[--progress][45][--metric][a b=c][--help] from the pipe"; said != want || code != 7 {
		t.Errorf("said %q and ended with %d, want %q and 7", said, code, want)
	}
}

func TestReportSaysWhatIsMissing(t *testing.T) {
	said, code := reportWith(t, t.TempDir(), "--progress", "45")
	if code != exitFailure || !strings.Contains(said, reporterFile) || !strings.Contains(said, "PATH") {
		t.Errorf("said %q and ended with %d", said, code)
	}
}
