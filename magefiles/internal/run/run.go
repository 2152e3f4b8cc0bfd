// SPDX-License-Identifier: Apache-2.0

// Package run starts the external commands behind the mage targets.
//
// It owns how a command is started, stopped and named in an error. It does not own which
// commands exist: targets decide that.
package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// stopGrace is how long a cancelled command may take to clean up before it is killed.
const stopGrace = 30 * time.Second

// Cmd says where and how a command runs. The zero value runs in the current folder with the
// environment of this process and streams both outputs.
type Cmd struct {
	Dir    string    // working folder; empty means the current one
	Env    []string  // "KEY=value" pairs on top of the environment of this process
	Stdin  io.Reader // nil means no input
	Stdout io.Writer // nil means the standard output of this process
	Stderr io.Writer // nil means the standard error of this process
}

// Run starts the command and waits for it. An error names the command line and the folder.
// When ctx ends, the command is interrupted and killed after 30 seconds.
func (c Cmd) Run(ctx context.Context, name string, args ...string) error {
	cmd := c.command(ctx, name, args)
	if err := cmd.Run(); err != nil {
		return &Error{Line: commandLine(name, args), Dir: c.Dir, Err: err}
	}
	return nil
}

// Output runs the command and returns what it wrote to its standard output, without the
// trailing newline. Its standard error is shown only when the command ends in an error.
func (c Cmd) Output(ctx context.Context, name string, args ...string) (string, error) {
	var out, complaint bytes.Buffer
	c.Stdout = &out
	if c.Stderr == nil {
		c.Stderr = &complaint
	}
	err := c.Run(ctx, name, args...)
	if err != nil && complaint.Len() > 0 {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(complaint.String()))
	}
	return strings.TrimRight(out.String(), "\n"), err
}

// Start runs the command in the background. The caller waits for the returned command.
func (c Cmd) Start(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	cmd := c.command(ctx, name, args)
	if err := cmd.Start(); err != nil {
		return nil, &Error{Line: commandLine(name, args), Dir: c.Dir, Err: err}
	}
	return cmd, nil
}

func (c Cmd) command(ctx context.Context, name string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdin = c.Dir, c.Stdin
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Stdout, cmd.Stderr = c.Stdout, c.Stderr
	if cmd.Stdout == nil {
		cmd.Stdout = os.Stdout
	}
	if cmd.Stderr == nil {
		cmd.Stderr = os.Stderr
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopGrace
	return cmd
}

// Error is a command that could not be started or ended badly.
type Error struct {
	Line string // the command line as a person would type it
	Dir  string // the folder it ran in; empty means the current one
	Err  error
}

// Error names the command and what became of it.
func (e *Error) Error() string {
	if e.Dir == "" {
		return fmt.Sprintf("running %q: %v", e.Line, e.Err)
	}
	return fmt.Sprintf("running %q in %s: %v", e.Line, e.Dir, e.Err)
}

// Unwrap gives the error of os/exec.
func (e *Error) Unwrap() error { return e.Err }

// ExitCode is the exit code behind err: 0 for nil, 1 where the command gave none.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
		return exit.ExitCode()
	}
	return 1
}

// longestLine keeps a command with hundreds of arguments from burying its own error.
const longestLine = 200

func commandLine(name string, args []string) string {
	words := append([]string{filepath.Base(name)}, args...)
	for i, word := range words {
		if word == "" || strings.ContainsAny(word, " \t\n\"'") {
			words[i] = fmt.Sprintf("'%s'", word)
		}
	}
	line := []rune(strings.Join(words, " "))
	if len(line) > longestLine {
		return string(line[:longestLine]) + "…"
	}
	return string(line)
}
