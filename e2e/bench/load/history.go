// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Accepted is a report the server has answered with 200.
type Accepted struct {
	Job      string
	Sequence uint32    // value of SequenceMetric in the report
	Final    bool      // progress 100
	At       time.Time // when the answer arrived
}

// record is an Accepted as it lies in the file; jobs are numbered in the order of their names there.
type record struct {
	Job      uint32
	Sequence uint32
	Final    uint32
	At       int64 // nanoseconds since 1970
}

// history writes accepted reports to a file: records first come, first written.
type history struct {
	mu   sync.Mutex
	file *os.File
	out  *bufio.Writer
	err  error
}

func createHistory(path string) (*history, error) {
	if path == "" {
		return nil, nil // no history is wanted, and every method accepts that
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("creating the history: %w", err)
	}
	return &history{file: file, out: bufio.NewWriterSize(file, 1<<16)}, nil
}

func (h *history) add(r record) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		h.err = binary.Write(h.out, binary.LittleEndian, r)
	}
}

func (h *history) close() error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	err := errors.Join(h.err, h.out.Flush(), h.file.Close())
	if err != nil {
		return fmt.Errorf("writing the history: %w", err)
	}
	return nil
}

// ReadHistory returns the accepted reports of a run of plan.
func ReadHistory(plan *Plan) ([]Accepted, error) {
	file, err := os.Open(plan.History)
	if err != nil {
		return nil, fmt.Errorf("reading the history: %w", err)
	}
	defer func() { _ = file.Close() }() // only read from
	names := newJobs(plan).names
	in := bufio.NewReader(file)
	var all []Accepted
	for {
		var r record
		err := binary.Read(in, binary.LittleEndian, &r)
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("reading the history: %w", err)
		case int(r.Job) >= len(names):
			return nil, fmt.Errorf("reading the history: job %d of %d", r.Job, len(names))
		}
		all = append(all, Accepted{
			Job: names[r.Job], Sequence: r.Sequence, Final: r.Final != 0, At: time.Unix(0, r.At),
		})
	}
}
