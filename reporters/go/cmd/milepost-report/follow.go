// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"reflect"
	"time"

	milepost "github.com/milepost-dev/milepost/reporters/go"
	"github.com/milepost-dev/milepost/reporters/go/internal/jsonparts"
)

// longestLine is more than a report can hold. What is longer is no report.
const longestLine = 1 << 20

// line is one line of JSON.
type line struct {
	Step     *int64          `json:"step"`
	Total    *int64          `json:"total"`
	Progress *float64        `json:"progress"`
	ETA      *float64        `json:"eta"`
	Metrics  json.RawMessage `json:"metrics"`
	Keep     []string        `json:"keep"`
	Complete bool            `json:"complete"`
	Fail     *string         `json:"fail"`
}

// follow reports line by line until the input ends or a line ends the training. The reporter is
// closed by the caller. Standard input is read to its end in any case: the program on the other end
// of the pipe would die of it otherwise.
func follow(m *milepost.Reporter, path string, stdin io.Reader, complain func(error)) int {
	if path == "-" {
		followLines(m, stdin, complain)
		_, _ = io.Copy(io.Discard, stdin)
		return exitFine
	}
	if !m.Active() {
		return exitFine
	}
	file := &growing{path: path, wait: func(d time.Duration) { <-time.After(d) }}
	defer file.close()
	followLines(m, file, complain)
	return exitFine
}

func followLines(m *milepost.Reporter, input io.Reader, complain func(error)) {
	lines := bufio.NewReaderSize(input, longestLine)
	complained := false
	for {
		text, err := lines.ReadSlice('\n')
		ended, lineErr := take(m, text)
		if lineErr != nil && !complained {
			complained = true
			complain(lineErr)
		}
		if ended || err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// take reports what a line says, and tells whether it ends the training.
func take(m *milepost.Reporter, text []byte) (ended bool, err error) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return false, nil
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return false, err
	}
	if reflect.ValueOf(l).IsZero() { // JSON of someone else; a report of nothing would clear the last one
		return false, errors.New("no field of a report is there")
	}
	parts, err := l.parts()
	if err != nil {
		return false, err
	}
	switch {
	case l.Complete:
		m.Complete(parts...)
		return true, nil
	case l.Fail != nil:
		m.Fail(errors.New(*l.Fail))
		return true, nil
	}
	m.Report(parts...)
	return false, nil
}

func (l line) parts() (parts []milepost.Part, err error) {
	if len(l.Metrics) > 0 && string(l.Metrics) != "null" {
		metrics, err := jsonparts.Decode(l.Metrics, nil)
		if err != nil {
			return nil, err
		}
		parts = append(parts, metrics...)
	}
	if l.Step != nil {
		total := int64(0)
		if l.Total != nil {
			total = *l.Total
		}
		parts = append(parts, milepost.Step(*l.Step, total))
	}
	if l.Progress != nil {
		parts = append(parts, milepost.Percent(*l.Progress))
	}
	if l.ETA != nil {
		parts = append(parts, milepost.Remaining(duration(*l.ETA)))
	}
	return append(parts, milepost.Keep(l.Keep...)), nil
}

// growing reads a file that another program writes: it waits for it to appear and to grow, and
// starts again when it was replaced or cut. It never ends by itself.
type growing struct {
	path string
	wait func(time.Duration)
	file *os.File
	at   int64
}

const lookEvery = 200 * time.Millisecond

func (g *growing) Read(p []byte) (int, error) {
	for {
		if g.file == nil {
			g.file, _ = os.Open(g.path) // it may come later
			g.at = 0
		}
		if g.file != nil {
			n, err := g.file.Read(p)
			if n > 0 {
				g.at += int64(n)
				return n, nil
			}
			if err != nil && g.replaced() {
				g.close()
				continue
			}
		}
		g.wait(lookEvery)
	}
}

// replaced tells whether the path leads to another file, or the file is shorter than what was read.
func (g *growing) replaced() bool {
	now, err := os.Stat(g.path)
	if err != nil {
		return false
	}
	open, err := g.file.Stat()
	return err != nil || !os.SameFile(now, open) || now.Size() < g.at
}

func (g *growing) close() {
	if g.file != nil {
		_ = g.file.Close()
		g.file = nil
	}
}
