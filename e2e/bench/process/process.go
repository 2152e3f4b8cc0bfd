// SPDX-License-Identifier: Apache-2.0

// Package process runs the programs of a benchmark as child processes and tells what they cost.
//
// It owns how a program is started, watched, measured and stopped. It does not own which programs
// run or what they are told.
package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// stopGrace is how long a program may take to end by itself before it is killed, unless its Spec
// says otherwise.
const stopGrace = 10 * time.Second

// readyPoll is often enough not to be waited for and rare enough not to fill the log of a program that
// notes each question.
const readyPoll = 200 * time.Millisecond

// Spec says what to run.
type Spec struct {
	Name   string   // names the log file and appears in errors
	Path   string   // program
	Args   []string // arguments after the name of the program
	Env    []string // "KEY=value" pairs on top of the environment of this process
	LogDir string   // folder of the file NAME.log that receives both outputs

	// StopGrace is how long the program may take to end by itself; 0 means ten seconds.
	StopGrace time.Duration

	// OwnMounts gives the program a mount table of its own, in which it may mount whatever it
	// likes without being root. Linux only, and only where user namespaces are allowed.
	OwnMounts bool
}

// Process is a running program.
type Process struct {
	name   string
	log    string
	grace  time.Duration
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // set before exited is closed
}

// Start runs the program in the background. It keeps running when ctx ends: Stop ends it, and so
// does the death of this process, so that nothing is left behind by a crash.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path := filepath.Join(spec.LogDir, spec.Name+".log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", spec.Name, err)
	}
	defer func() { _ = log.Close() }() // the program holds its own handle
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes(spec.OwnMounts)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", spec.Name, err)
	}
	p := &Process{name: spec.Name, log: path, grace: cmp.Or(spec.StopGrace, stopGrace), cmd: cmd, exited: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// Name is the name from the Spec.
func (p *Process) Name() string { return p.name }

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// WaitReady calls check until it returns nil. It gives up when ctx ends, after timeout, or when
// the program exits; the error then ends with the last lines of the log.
func (p *Process) WaitReady(ctx context.Context, timeout time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("%s ended before it was ready: %w%s", p.name, p.ending(), p.lastLines())
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w (last: %w)%s", p.name, ctx.Err(), err, p.lastLines())
		case <-ticker.C:
		}
	}
}

// Exited is closed when the program has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Alive returns an error when the program has ended.
func (p *Process) Alive() error {
	select {
	case <-p.exited:
		return fmt.Errorf("%s ended by itself: %w%s", p.name, p.ending(), p.lastLines())
	default:
		return nil
	}
}

// ending says how a program ended that has; one that was not asked to had no reason to end well.
func (p *Process) ending() error {
	if p.err == nil {
		return errors.New("exit status 0")
	}
	return p.err
}

// Stop asks the program to end and kills it when it has not done so in time. The error names a
// program that had to be killed.
func (p *Process) Stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only for a program that has ended
	select {
	case <-p.exited:
		return nil
	case <-time.After(p.grace):
	}
	_ = p.cmd.Process.Kill()
	<-p.exited
	return fmt.Errorf("%s did not stop within %s and was killed", p.name, p.grace)
}

// StopAll stops programs in reverse order of the list.
func StopAll(processes []*Process) error {
	var errs []error
	for _, p := range slices.Backward(processes) {
		errs = append(errs, p.Stop())
	}
	return errors.Join(errs...)
}

// lastLines quotes the end of the log.
func (p *Process) lastLines() string {
	const most = 12
	content, err := os.ReadFile(p.log)
	if err != nil {
		return "; no log: " + err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	lines = lines[max(0, len(lines)-most):]
	return fmt.Sprintf("\nlast lines of %s:\n  %s", filepath.Base(p.log), strings.Join(lines, "\n  "))
}
