// SPDX-License-Identifier: Apache-2.0

// Package screen keeps a line at the foot of a terminal while a command writes
// above it.
//
// It owns the terminal's output: the scrolling region above the line, and what
// it takes to put the line there without disturbing the command. It does not own
// the text of the line (progressview) or the command (command).
//
// The command's output is passed on byte for byte. All that is done to the
// terminal is to let its last row not scroll; the command is told of a terminal
// that is one row smaller, so that progress bars, clearing the screen and full
// screen programs keep to the rows above.
package screen

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// MinRows is the least height of a terminal that has a row to spare.
const MinRows = 3

const (
	saveCursor     = "\x1b7"
	restoreCursor  = "\x1b8"
	downOneRow     = "\x1bD" // scrolls on the last row, keeps the column
	upOneRow       = "\x1b[A"
	wholeScreen    = "\x1b[r" // the region that scrolls
	plainText      = "\x1b[0m"
	clearRight     = "\x1b[K"
	clearBelow     = "\x1b[J"
	moveTo         = "\x1b[%d;1H"
	scrollingAbove = "\x1b[1;%dr"
	cancel         = "\x18" // ends an escape sequence without effect
)

// Screen is a terminal whose last row is kept. All methods may be called from
// several goroutines. Errors of the terminal are not reported: when it is gone
// the command must go on all the same.
type Screen struct {
	out  io.Writer
	size func() (rows, columns int)

	mu        sync.Mutex
	scan      scanner
	rows      int    // height that the region was made for; 0 when there is none
	told      [2]int // rows and columns that the command knows of
	line      string
	suspended bool
}

// New returns the screen on a terminal; size tells its present size. Nothing is
// written before the first Show.
func New(out io.Writer, size func() (rows, columns int)) *Screen {
	return &Screen{out: out, size: size, scan: scanner{lineStart: true}}
}

// Size is the size of the terminal.
func (s *Screen) Size() (rows, columns int) { return s.size() }

// CommandSize is the size that the command should believe in. Whoever asks is
// taken to tell the command.
func (s *Screen) CommandSize() (rows, columns int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows, columns = s.size()
	s.told = [2]int{rows, columns}
	if rows >= MinRows {
		rows--
	}
	return rows, columns
}

// Write passes on what the command wrote.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.Write(p)
	effect := s.scan.feed(p)
	if s.rows == 0 || effect == effectNone {
		return len(p), nil
	}
	if effect == effectLost {
		s.rows = 0
	}
	s.paint()
	return len(p), nil
}

// Show puts text into the last row. It reports whether the size of the terminal
// is not the one that the command was told.
func (s *Screen) Show(text string) (resized bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows, columns := s.size()
	resized = s.told != [2]int{rows, columns}
	s.line = text
	if s.suspended {
		return resized
	}
	if resized {
		s.release(clearBelow) // whatever became of the old line, it is below the cursor
	}
	s.paint()
	return resized
}

// Say writes a line of this program's own between those of the command.
func (s *Screen) Say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.scan.ground() {
		return // a line in the middle of a sequence would be lost anyway
	}
	if !s.scan.lineStart {
		text = "\r\n" + text
	}
	s.write(text + "\r\n")
	s.scan.lineStart = true
}

// Suspend gives the whole terminal back until Resume.
func (s *Screen) Suspend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suspended = true
	s.release("")
}

// Resume takes the last row again.
func (s *Screen) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suspended = false
	s.paint()
}

// Close gives the terminal back with the cursor at the start of a row.
func (s *Screen) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suspended = true
	if !s.scan.ground() {
		s.write(cancel) // the command ended in the middle of a sequence
		s.scan.state = stateText
	}
	s.release("")
	if !s.scan.lineStart {
		s.write("\r\n")
		s.scan.lineStart = true
	}
}

// paint draws the line, and makes the region first when there is none. In the
// middle of an escape sequence of the command it does nothing: the next call is
// soon enough.
func (s *Screen) paint() {
	if !s.scan.ground() {
		return
	}
	rows, _ := s.size()
	if rows < MinRows {
		s.release("")
		return
	}
	var out strings.Builder
	if s.rows == 0 {
		// One row down and up again scrolls if the cursor is in the last row, and frees it.
		out.WriteString(downOneRow + upOneRow + saveCursor)
		fmt.Fprintf(&out, scrollingAbove, rows-1)
		out.WriteString(restoreCursor)
		s.rows = rows
	}
	out.WriteString(saveCursor)
	fmt.Fprintf(&out, moveTo, s.rows)
	out.WriteString(plainText + s.line + clearRight + restoreCursor)
	s.write(out.String())
}

// release lets the whole terminal scroll and removes the line. With below set to
// clearBelow everything under the cursor goes.
func (s *Screen) release(below string) {
	if s.rows == 0 {
		return
	}
	out := saveCursor + wholeScreen
	if below == "" {
		out += fmt.Sprintf(moveTo, s.rows) + plainText + clearRight
	}
	s.write(out + restoreCursor + below)
	s.rows = 0
}

func (s *Screen) write(text string) { _, _ = io.WriteString(s.out, text) }
