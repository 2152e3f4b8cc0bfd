// SPDX-License-Identifier: Apache-2.0

//go:build unix

package faults

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
)

const bodyBytes = 64 << 10

// endless never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// chunked hides the length of a body.
func chunked(r io.Reader) io.Reader { return struct{ io.Reader }{r} }

var hostileBodies = map[string]struct {
	body   func() io.Reader
	header http.Header
	code   int
}{
	"a byte too many, declared": {code: 413, body: func() io.Reader { return strings.NewReader(strings.Repeat(" ", bodyBytes+1)) }},
	"a byte too many, chunked":  {code: 413, body: func() io.Reader { return chunked(strings.NewReader(strings.Repeat(" ", bodyBytes+1))) }},
	"endless chunks":            {code: 413, body: func() io.Reader { return endless{} }},
	"a compressed bomb": {code: 415, header: http.Header{"Content-Encoding": {"gzip"}}, body: func() io.Reader {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(make([]byte, 16<<20))
		_ = z.Close()
		return &b
	}},
	"a million keys": {code: 413, body: func() io.Reader {
		return chunked(strings.NewReader("{" + strings.Repeat(`"k":1,`, 1_000_000) + `"k":1}`))
	}},
	"as many keys as there is room": {code: 200, body: func() io.Reader { return strings.NewReader("{" + strings.Repeat(`"k":1,`, 10_000) + `"k":1}`) }},
	"nested 10,000 deep":            {code: 422, body: func() io.Reader { return strings.NewReader(`{"trainerStatus":` + strings.Repeat("[", 10_000)) }},
	"a field that nobody reads, 10,000 deep": {code: 200, body: func() io.Reader {
		return strings.NewReader(`{"x":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "}")
	}},
	"a NUL byte":        {code: 422, body: func() io.Reader { return strings.NewReader("{\"trainerStatus\":\x00}") }},
	"a byte-order mark": {code: 422, body: func() io.Reader { return strings.NewReader("\ufeff{}") }},
}

func TestHostileBodies(t *testing.T) {
	s := require(t)
	m := s.manager(t, s.plane.Config, livemanager.Options{})
	f := launch(t, plan{jobs: s.jobs, client: newClients(t, m), address: m.Address()})
	rate := f.flow(t)
	victim := s.victim(t, "bodies")
	c := newClients(t, m)()
	target := forgeTarget{client: c, url: m.URL(namespace, victim.name)}
	target.awaitKnown(t, victim)
	mark := f.mark()
	for name, tc := range hostileBodies {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target.url, tc.body())
			if err != nil {
				t.Fatal(err)
			}
			maps.Copy(req.Header, tc.header)
			req.Header.Set("Authorization", "Bearer "+victim.token)
			resp, err := c.Do(req)
			if err != nil {
				t.Fatalf("sending: %v", err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != tc.code {
				text, _ := io.ReadAll(resp.Body)
				t.Errorf("answer %d %s, want %d", resp.StatusCode, text, tc.code)
			}
		})
	}
	eventually(t, patience, "honest reports meanwhile", func() error {
		if len(f.since(mark)) < len(f.senders) {
			return errNone
		}
		return nil
	})
	memory := measure(t, m).memory
	f.stop()
	checkHonest(t, f.since(mark))
	if memory > memoryLimit {
		t.Errorf("the manager took %d MiB", memory>>20)
	}
	s.note(t, "under %.0f reports/s; %d bodies answered right; %d MiB; honest p99 %s, none failed",
		rate, len(hostileBodies), memory>>20, p99(f.since(mark)).Round(1e6))
}
