// SPDX-License-Identifier: Apache-2.0

//go:build unix

package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// HasOutput tells whether Options.Output can be used on this system.
const HasOutput = true

// Command is a running command.
type Command struct {
	options  Options
	process  *os.Process
	group    int // the process group of the command, which is its own
	terminal *terminal
	output   *output
	signals  chan os.Signal
	ended    atomic.Bool
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
	c := &Command{options: options, terminal: openTerminal(), signals: make(chan os.Signal, 16)}
	stdout, stderr := options.Stdout, options.Stderr
	if options.Output != nil {
		if c.output, err = openOutput(options.Output, options.Size); err != nil {
			return nil, err
		}
		stdout, stderr = c.output.instead(stdout), c.output.instead(stderr)
	}

	attributes := &syscall.SysProcAttr{Setpgid: true}
	if c.terminal.mayPassOn(options.Stdin, options.Stdout, options.Stderr) {
		attributes.Foreground, attributes.Ctty = true, c.terminal.fd()
	}
	// Signals are caught before there is a process, so that none is lost between the two.
	signal.Notify(c.signals, caught()...)
	command := exec.Cmd{
		Path: path, Args: options.Argv, Env: options.Env,
		Stdin: options.Stdin, Stdout: stdout, Stderr: stderr, SysProcAttr: attributes,
	}
	err = command.Start()
	if c.output != nil {
		c.output.started()
	}
	if err != nil {
		c.ended.Store(true)
		if attributes.Foreground {
			// The child may have taken the terminal before it failed to become the command.
			signal.Ignore(syscall.SIGTTOU)
			c.terminal.give(unix.Getpgrp())
		}
		c.settle()
		c.Close()
		return nil, startError(path, err)
	}
	c.process, c.group = command.Process, command.Process.Pid
	// From here on writing to the terminal, and taking it back, must not stop this process. The
	// command was started before, because it would inherit the choice.
	signal.Ignore(syscall.SIGTTOU)
	go c.passSignals()
	return c, nil
}

// passOn are the signals that reach the command when they are sent to this
// process. Those that the terminal sends reach the command directly.
var passOn = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTSTP,
}

// caught leaves alone what was ignored when this process started, as nohup and
// shells do for jobs in the background: the command inherits that.
func caught() []os.Signal {
	signals := []os.Signal{syscall.SIGCONT}
	for _, s := range passOn {
		if !signal.Ignored(s) {
			signals = append(signals, s)
		}
	}
	return signals
}

func (c *Command) passSignals() {
	for s := range c.signals {
		if number, ok := s.(syscall.Signal); ok && number != syscall.SIGCONT {
			c.Signal(number)
		}
	}
}

// Signal sends a signal to the command and everything it started that is still in
// its process group. After the end of the command it does nothing.
func (c *Command) Signal(number syscall.Signal) {
	if !c.ended.Load() {
		_ = syscall.Kill(-c.group, number) // it may be ending this moment
	}
}

// Resize tells the command that its terminal has another size now.
func (c *Command) Resize() {
	if c.output != nil {
		c.output.resize()
		c.Signal(syscall.SIGWINCH)
	}
}

// Wait waits for the end of the command. What it wrote has reached Output by then.
func (c *Command) Wait() (Exit, error) {
	exit, err := c.wait()
	c.ended.Store(true)
	c.settle()
	return exit, err
}

func (c *Command) wait() (Exit, error) {
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(c.process.Pid, &status, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return Exit{}, fmt.Errorf("waiting for the command: %w", err)
		case status.Stopped():
			c.stopped(status.StopSignal())
		case status.Signaled():
			return Exit{Code: codeSignal + int(status.Signal()), Signal: unix.SignalName(status.Signal())}, nil
		case status.Exited():
			return Exit{Code: status.ExitStatus()}, nil
		}
	}
}

// stopped follows the command when the terminal stopped it. A command that asked
// for the terminal gets it and goes on at once.
func (c *Command) stopped(why syscall.Signal) {
	switch why {
	case syscall.SIGTTIN, syscall.SIGTTOU:
		if c.terminal.isOurs() {
			c.terminal.give(c.group)
			c.Signal(syscall.SIGCONT)
			return
		}
	case syscall.SIGTSTP:
	default:
		return // a debugger or an operator stopped the command alone
	}
	if c.terminal == nil {
		return // nobody could press the key that goes on
	}
	if c.options.Paused != nil {
		c.options.Paused()
	}
	had := c.terminal.belongsTo(c.group)
	c.terminal.takeBack(c.group)
	pause()
	if had && c.terminal.isOurs() {
		c.terminal.give(c.group)
	}
	if c.options.Resumed != nil {
		c.options.Resumed()
	}
	c.Signal(syscall.SIGCONT)
}

// pause stops this process and the others of its job until the shell lets them
// go on. Where no shell could do that, nothing stops: the kernel treats the stop
// key the same way.
func pause() {
	if isOrphaned() {
		return
	}
	resumed := make(chan os.Signal, 1)
	signal.Notify(resumed, syscall.SIGCONT)
	defer signal.Stop(resumed)
	if err := syscall.Kill(0, syscall.SIGSTOP); err == nil {
		<-resumed
	}
}

// settle takes the terminal back and passes on the last of the output.
func (c *Command) settle() {
	c.terminal.takeBack(c.group)
	if c.output != nil {
		c.output.drain()
	}
}

// Close lets signals act on this process again. Until then those that come after
// the end of the command are dropped, so that its result can be kept.
func (c *Command) Close() {
	signal.Stop(c.signals)
	close(c.signals)
	signal.Reset(syscall.SIGTTOU)
	c.terminal.close()
}
