// SPDX-License-Identifier: Apache-2.0

//go:build unix

package faults

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/reportlink"
	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
)

const megabyte = 1 << 20

// hugeHeaders are more than a server should read.
var hugeHeaders = map[string]func() string{
	"a token of 1 MB": func() string { return "Authorization: Bearer " + strings.Repeat("x", megabyte) },
	"a token with a key id of 1 MB": func() string {
		head := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256","kid":"` + strings.Repeat("k", megabyte) + `"}`))
		return "Authorization: Bearer " + head + ".e30.AAAA"
	},
	"ten thousand headers":   func() string { return strings.TrimSuffix(strings.Repeat("X-More: x\r\n", 10_000), "\r\n") },
	"one header without end": func() string { return "X-Long: " + strings.Repeat("x", 16*megabyte) },
}

func TestHugeHeaders(t *testing.T) {
	s := require(t)
	m := s.manager(t, s.plane.Config, livemanager.Options{})
	f := launch(t, plan{jobs: s.jobs, client: newClients(t, m), address: m.Address()})
	rate := f.flow(t)
	victim := s.victim(t, "headers")
	forgeTarget{client: newClients(t, m)(), url: m.URL(namespace, victim.name)}.awaitKnown(t, victim)
	c := newCaller(t, m)
	mark, before, slowest := f.mark(), s.version(t, victim), time.Duration(0)
	for name, header := range hugeHeaders {
		t.Run(name, func(t *testing.T) {
			conn, err := c.dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			begun := time.Now()
			code := sendHeader(conn, reportlink.Path(namespace, victim.name), header())
			slowest = max(slowest, time.Since(begun))
			// The server may close before all is sent, and then its answer is lost.
			if code != http.StatusRequestHeaderFieldsTooLarge && code != 0 {
				t.Errorf("answer %d, want 431 or the end of the connection", code)
			}
		})
	}
	if s.version(t, victim) != before {
		t.Error("the TrainJob was written")
	}
	if slowest > headerLimit+slack() {
		t.Errorf("a connection was closed after %s, want %s", slowest, headerLimit)
	}
	memory := measure(t, m).memory
	f.stop()
	checkHonest(t, f.since(mark))
	if memory > memoryLimit {
		t.Errorf("the manager took %d MiB", memory>>20)
	}
	s.note(t, "under %.0f reports/s; %d headers of 110 kB to 16 MB turned away, the slowest in %s; %d MiB; honest p99 %s, none failed",
		rate, len(hugeHeaders), slowest.Round(time.Millisecond), memory>>20, p99(f.since(mark)).Round(time.Millisecond))
}

// sendHeader sends a request with one header and returns the code of the answer;
// 0 when the connection ends without one.
func sendHeader(conn net.Conn, path, header string) int {
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n", path, header) // may be cut off
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
