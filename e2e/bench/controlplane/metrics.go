// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Writes counts what the API server has been asked to do with TrainJobs, by its own metrics.
type Writes struct {
	Status    float64 // changes of the subresource status, as good as refused ones
	TrainJobs float64 // changes of TrainJobs themselves
	Others    float64 // changes of every other resource, Leases left out
}

// Minus is what happened since an earlier count.
func (w Writes) Minus(earlier Writes) Writes {
	return Writes{w.Status - earlier.Status, w.TrainJobs - earlier.TrainJobs, w.Others - earlier.Others}
}

// Writes reads the counters.
func (p *Plane) Writes(ctx context.Context) (Writes, error) {
	content, err := p.clients.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return Writes{}, fmt.Errorf("reading the API server's metrics: %w", err)
	}
	return parseWrites(content)
}

var readVerbs = map[string]bool{"GET": true, "LIST": true, "WATCH": true, "CONNECT": true, "PROXY": true}

// parseWrites adds up the samples of apiserver_request_total.
func parseWrites(content []byte) (Writes, error) {
	const name = "apiserver_request_total{"
	var w Writes
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, name) {
			continue
		}
		labels, value, found := strings.Cut(line[len(name):], "} ")
		if !found {
			return Writes{}, fmt.Errorf("unexpected metric %q", line)
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return Writes{}, fmt.Errorf("unexpected metric %q: %w", line, err)
		}
		w.add(labels, n)
	}
	return w, lines.Err()
}

func (w *Writes) add(labels string, n float64) {
	switch resource := label(labels, "resource"); {
	case readVerbs[label(labels, "verb")], resource == "leases":
	case resource == "trainjobs" && label(labels, "subresource") == "status":
		w.Status += n
	case resource == "trainjobs":
		w.TrainJobs += n
	default:
		w.Others += n
	}
}

// label finds the value of a label in the text between the braces of a sample.
func label(labels, name string) string {
	for pair := range strings.SplitSeq(labels, ",") {
		if value, found := strings.CutPrefix(pair, name+`="`); found {
			return strings.TrimSuffix(value, `"`)
		}
	}
	return ""
}
