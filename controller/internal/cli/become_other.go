// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package cli

import (
	"errors"
	"fmt"
	"os/exec"
)

// become runs another program to its end and passes its exit code on.
func (p *Program) become(path string, argv []string) error {
	cmd := exec.Cmd{Path: path, Args: argv, Env: p.Environ, Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr}
	err := cmd.Run()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		return &codedError{code: ended.ExitCode()}
	}
	if err != nil {
		return fmt.Errorf("starting %s: %w", path, err)
	}
	return nil
}
