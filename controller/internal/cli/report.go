// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"
)

// reporterFile is the program that reports. It belongs to the reporters, which
// know the wire and what to do when nothing answers; so that this module needs
// nothing of them, it is a program of its own.
const reporterFile = "milepost-report"

func (p *Program) reportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "report",
		Short: "Report the progress of a training program from inside a TrainJob",
		Example: p.examples(
			"report --progress 45 --eta 120 --metric loss=0.2",
			"report --follow progress.jsonl",
			"report --help",
		),
		DisableFlagParsing: true, // they are those of the other program
		RunE: func(*cobra.Command, []string) error {
			path, err := p.reporterPath()
			if err != nil {
				return err
			}
			// Everything behind the word report, untouched.
			return p.become(path, append([]string{p.name() + " report"}, p.Args[2:]...))
		},
	}
}

// reporterPath finds the program that reports: beside this one, else on the PATH.
func (p *Program) reporterPath() (string, error) {
	file := reporterFile
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	if own, err := os.Executable(); err == nil {
		if own, err = filepath.EvalSymlinks(own); err == nil {
			beside := filepath.Join(filepath.Dir(own), file)
			if info, err := os.Stat(beside); err == nil && !info.IsDir() {
				return beside, nil
			}
		}
	}
	path, err := exec.LookPath(file)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", fmt.Errorf("finding %s, which does the reporting: it is neither beside this program nor on the PATH", reporterFile)
	}
	return path, err
}
