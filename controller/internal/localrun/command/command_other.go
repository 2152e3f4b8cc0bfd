// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
)

// HasOutput tells whether Options.Output can be used on this system.
const HasOutput = false

// Command is a running command. On this system it shares the console with this
// process: keys such as Ctrl-C reach both, and there is nothing to pass on.
type Command struct {
	command *exec.Cmd
	signals chan os.Signal
}

// Start starts the command. The error is a *StartError when it is the command
// that cannot be run.
func Start(options Options) (*Command, error) {
	path, err := find(options.Argv[0])
	if err != nil {
		return nil, err
	}
	if options.Starting != nil {
		options.Starting()
	}
	c := &Command{
		command: &exec.Cmd{
			Path: path, Args: options.Argv, Env: options.Env,
			Stdin: options.Stdin, Stdout: options.Stdout, Stderr: options.Stderr,
		},
		signals: make(chan os.Signal, 1),
	}
	signal.Notify(c.signals, os.Interrupt)
	if err := c.command.Start(); err != nil {
		c.Close()
		return nil, startError(path, err)
	}
	return c, nil
}

// Resize does nothing here.
func (c *Command) Resize() {}

// Wait waits for the end of the command.
func (c *Command) Wait() (Exit, error) {
	err := c.command.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return Exit{}, fmt.Errorf("waiting for the command: %w", err)
	}
	return Exit{Code: c.command.ProcessState.ExitCode()}, nil
}

// Close lets signals act on this process again.
func (c *Command) Close() { signal.Stop(c.signals) }
