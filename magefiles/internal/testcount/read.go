// SPDX-License-Identifier: Apache-2.0

package testcount

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"time"
)

// silence is how long the reader waits for a finished package before it says what is running.
const silence = 30 * time.Second

// event is one line of `go test -json`.
type event struct {
	Action      string
	Package     string
	ImportPath  string // set instead of Package while a package is being built
	Test        string
	Output      string
	Elapsed     float64 // seconds
	FailedBuild string  // set on the failure of a package that was not built
}

// Options say how much the reader shows.
type Options struct {
	Out        io.Writer // receives progress and failures
	Total      int       // packages expected, for the progress lines; 0 when unknown
	TrimPrefix string    // cut from the front of package names
	Live       bool      // show all output as it comes instead of only that of failed tests
}

// Read consumes events until the stream ends and returns what they add up to. Lines that are no
// events are shown as they are.
func Read(events io.Reader, opts Options) (Result, error) {
	r := &reader{opts: opts, packages: map[string]*packageRun{}, builds: map[string]string{}}
	stop := r.reportSilence()
	defer stop()
	lines := bufio.NewScanner(events)
	lines.Buffer(make([]byte, 0, 64<<10), 16<<20)
	for lines.Scan() {
		r.line(lines.Bytes())
	}
	r.abandonUnfinished()
	return r.result, lines.Err()
}

type reader struct {
	opts     Options
	mu       sync.Mutex // the silence reporter writes and reads beside the reader
	packages map[string]*packageRun
	running  []string
	builds   map[string]string // what the compiler said, by import path
	done     int
	result   Result
}

func (r *reader) line(text []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var e event
	if len(text) == 0 || text[0] != '{' || json.Unmarshal(text, &e) != nil {
		r.print(string(text) + "\n")
		return
	}
	switch {
	case e.Action == "build-output":
		r.builds[e.ImportPath] += e.Output
	case e.Action == "build-fail":
	case e.Test != "":
		r.pkg(e.Package).test(e, r.live)
	default:
		r.packageEvent(e)
	}
}

func (r *reader) packageEvent(e event) {
	p := r.pkg(e.Package)
	switch e.Action {
	case "output":
		p.output = append(p.output, e.Output)
		if r.opts.Live && !isVerdict(e.Output) {
			r.print(e.Output)
		}
	case "pass", "fail", "skip":
		r.finish(e.Package, p, e)
	}
}

// isVerdict recognises the lines that the go command adds at the end of a package; the reader
// prints a line of its own instead.
func isVerdict(line string) bool {
	for _, start := range []string{"PASS\n", "FAIL\n", "ok  \t", "FAIL\t", "?   \t", "exit status "} {
		if strings.HasPrefix(line, start) {
			return true
		}
	}
	return false
}

func (r *reader) pkg(name string) *packageRun {
	p, known := r.packages[name]
	if !known {
		p = newPackageRun()
		r.packages[name] = p
		r.running = append(r.running, name)
	}
	return p
}

func (r *reader) live(output string) {
	if r.opts.Live {
		r.print(output)
	}
}

func (r *reader) print(text string) { _, _ = io.WriteString(r.opts.Out, text) }

func (r *reader) short(name string) string { return strings.TrimPrefix(name, r.opts.TrimPrefix) }
