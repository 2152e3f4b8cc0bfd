// SPDX-License-Identifier: Apache-2.0

// Package command runs a training command in the foreground as if nothing stood
// between it and the user.
//
// It owns the process: how it is started, its terminal, the signals it gets and
// the exit code that stands for its end. It does not own what is drawn beside
// the command's output (screen) nor what the command reports (localrun).
//
// Where the view needs the last line of the terminal, the command's output goes
// through a pseudo terminal instead of a pipe: programs keep their colours,
// progress bars and line buffering. The pseudo terminal carries output alone.
// Input and job control stay with the real terminal, whose modes are never
// touched, so that nothing is left to repair if this process is killed.
package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// Options say what to run and where its output goes.
type Options struct {
	// Argv is the command and its arguments; at least one.
	Argv []string
	// Env is the whole environment.
	Env []string
	// Stdin, Stdout and Stderr are handed on as they are.
	Stdin, Stdout, Stderr *os.File
	// Output, when set, takes the place of those of Stdout and Stderr that are
	// terminals. What is written to it has passed a pseudo terminal.
	Output io.Writer
	// Size returns the rows and columns that the command may use when Output is
	// set. It is asked again after every Resize.
	Size func() (rows, columns int)
	// Starting is called when the command was found, right before it starts. It
	// may be nil.
	Starting func()
	// Paused is called when the command was stopped from the terminal, before
	// this process stops as well; Resumed when both go on. Either may be nil.
	Paused, Resumed func()
}

// Exit is how a command ended.
type Exit struct {
	// Code is what a shell would have: the exit code of the command, or 128 plus
	// the number of the signal that ended it.
	Code int
	// Signal is the name of that signal, such as "SIGTERM"; empty otherwise.
	Signal string
}

// Exit codes of a shell for a command that did not start.
const (
	CodeNotExecutable = 126
	CodeNotFound      = 127
	codeSignal        = 128
)

// StartError says why a command could not be started.
type StartError struct {
	// Code is CodeNotFound or CodeNotExecutable.
	Code int
	Err  error
}

// Error returns one line that names the command.
func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// find looks the command up as a shell does.
func find(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, exec.ErrDot):
		return "", &StartError{Code: CodeNotFound, Err: fmt.Errorf("%s: command not found; write ./%s for the one in this folder", name, name)}
	case errors.Is(err, exec.ErrNotFound):
		return "", &StartError{Code: CodeNotFound, Err: fmt.Errorf("%s: command not found", name)}
	}
	return "", startError(name, err)
}

// startError sorts the reasons for which the system refuses to run a file.
func startError(name string, err error) error {
	code, why := CodeNotExecutable, ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// The file itself was found, or has a path: what is missing may be its interpreter.
		code, why = CodeNotFound, "no such file"
		if _, statErr := os.Stat(name); statErr == nil {
			code, why = CodeNotExecutable, "the interpreter in its first line does not exist"
		}
	case errors.Is(err, syscall.EISDIR):
		why = "it is a folder"
	case errors.Is(err, fs.ErrPermission):
		why = "no permission to run it"
	case errors.Is(err, syscall.ENOEXEC):
		why = "it is no program; a script needs a first line such as #!/bin/sh"
	default:
		return &StartError{Code: code, Err: fmt.Errorf("starting %s: %w", name, err)}
	}
	return &StartError{Code: code, Err: fmt.Errorf("%s: %s", name, why)}
}
