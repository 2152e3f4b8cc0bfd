// SPDX-License-Identifier: Apache-2.0

//go:build unix

package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"
)

// output carries what the command writes through a pseudo terminal.
type output struct {
	master, slave *os.File
	size          func() (rows, columns int)
	done          chan struct{}
}

// lateOutput is how long to wait after the end of the command for processes that
// it left behind and that still hold its output.
const lateOutput = 500 * time.Millisecond

func openOutput(to io.Writer, size func() (rows, columns int)) (*output, error) {
	master, slave, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("opening a pseudo terminal: %w", err)
	}
	// The real terminal turns line feeds into new lines already.
	if _, err := term.MakeRaw(int(slave.Fd())); err != nil {
		return nil, errors.Join(fmt.Errorf("setting up a pseudo terminal: %w", err), master.Close(), slave.Close())
	}
	o := &output{master: master, slave: slave, size: size, done: make(chan struct{})}
	o.resize()
	go func() {
		defer close(o.done)
		// Reading ends with an error when the last writer is gone; on Linux that error is EIO.
		_, _ = io.Copy(writerOnly{to}, master)
	}()
	return o, nil
}

// writerOnly hides every other method of a writer from io.Copy.
type writerOnly struct{ io.Writer }

// instead returns the pseudo terminal for a file that is a terminal, and any
// other file as it is.
func (o *output) instead(file *os.File) *os.File {
	if file != nil && term.IsTerminal(int(file.Fd())) {
		return o.slave
	}
	return file
}

// started gives up this process's hold on the command's end, so that reading
// ends with the command.
func (o *output) started() { _ = o.slave.Close() }

func (o *output) resize() {
	rows, columns := o.size()
	_ = pty.Setsize(o.master, &pty.Winsize{Rows: clamp(rows), Cols: clamp(columns)}) // a wrong size is no reason to stop
}

func clamp(n int) uint16 { return uint16(min(max(n, 0), 1<<16-1)) }

// drain waits until everything that was written has been passed on.
func (o *output) drain() {
	late := time.NewTimer(lateOutput)
	defer late.Stop()
	select {
	case <-o.done:
	case <-late.C:
	}
	_ = o.master.Close()
}
