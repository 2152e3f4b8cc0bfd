// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

func TestLimits(t *testing.T) {
	t.Run("a pod over its share is told when to come again, before its body is read", func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Limits = Limits{PodRate: 0.1, PodBurst: 2} })
		for range 2 {
			if got := r.do(r.request(http.MethodPost, path, goodBody)); got.code != http.StatusOK {
				t.Fatalf("answer %d within the share", got.code)
			}
		}
		got := r.do(r.request(http.MethodPost, path, "not looked at"))
		if got.code != http.StatusTooManyRequests || got.header.Get("Retry-After") != "10" {
			t.Errorf("answer %d with Retry-After %q, want 429 with 10", got.code, got.header.Get("Retry-After"))
		}
	})
	t.Run("a full server turns requests away before it knows them", func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Limits.InFlight = 1 })
		r.store.block = make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() { r.do(r.request(http.MethodPost, path, goodBody)) })
		waitFor(t, func() bool { return r.do(r.request(http.MethodGet, path, "")).code == http.StatusTooManyRequests })
		close(r.store.block)
		wg.Wait()
		// The server counts a request a moment longer than its caller waits.
		waitFor(t, func() bool { return r.do(r.request(http.MethodGet, path, "")).code == http.StatusOK })
	})
	t.Run("a header byte by byte ends with the connection", func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Limits.HeaderTimeout = 200 * time.Millisecond })
		r.dribble("POST "+path+" HTTP/1.1\r\nHost: x\r\nX: ", "a")
	})
	t.Run("a body byte by byte ends with the connection", func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Limits.BodyTimeout = 300 * time.Millisecond })
		r.dribble("POST "+path+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nContent-Length: 60000\r\n\r\n", " ")
	})
	t.Run("a body without end is cut at its limit", func(t *testing.T) {
		r := newRig(t, nil)
		conn := r.dial(r.ca.ClientConfig())
		defer conn.Close()
		go func() {
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nTransfer-Encoding: chunked\r\n\r\n", path)
			for {
				if _, err := fmt.Fprintf(conn, "1000\r\n%s\r\n", strings.Repeat(" ", 4096)); err != nil {
					return
				}
			}
		}()
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("reading the answer: %v", err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("answer %d, want 413", resp.StatusCode)
		}
	})
	t.Run("the longest waiting connection makes room for a new one", func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Limits.Connections = 2 })
		first, second := r.dial(r.ca.ClientConfig()), r.dial(r.ca.ClientConfig())
		defer first.Close()
		defer second.Close()
		third := r.dial(r.ca.ClientConfig())
		defer third.Close()
		if _, err := first.Read(make([]byte, 1)); err == nil {
			t.Error("the first connection is still open")
		}
		fmt.Fprintf(second, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n\r\n", path)
		resp, err := http.ReadResponse(bufio.NewReader(second), nil)
		if err != nil {
			t.Fatalf("the second connection: %v", err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("the second connection is answered %d", resp.StatusCode)
		}
	})
}

func (r *rig) dial(config *tls.Config) *tls.Conn {
	r.t.Helper()
	conn, err := (&tls.Dialer{Config: config}).DialContext(r.t.Context(), "tcp", r.server.Address())
	if err != nil {
		r.t.Fatalf("dialling: %v", err)
	}
	return conn.(*tls.Conn)
}

// dribble sends the start and then a byte at a time until the server cuts the
// connection, which it must.
func (r *rig) dribble(start, drop string) {
	r.t.Helper()
	conn := r.dial(r.ca.ClientConfig())
	defer conn.Close()
	if _, err := io.WriteString(conn, start); err != nil {
		r.t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, conn)
		close(closed)
	}()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(5 * time.Second)
	for {
		select {
		case <-closed:
			return
		case <-tick.C:
			_, _ = io.WriteString(conn, drop)
		case <-limit:
			r.t.Fatal("the connection is still open")
		}
	}
}

func TestSharesRecoverAndAreForgotten(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(testNow)
	b := newBuckets(10, 2, clock)
	if b.take("a") != 0 || b.take("a") != 0 {
		t.Fatal("the burst is refused")
	}
	if wait := b.take("a"); wait != 100*time.Millisecond {
		t.Errorf("told to wait %v, want 100ms", wait)
	}
	if b.take("b") != 0 {
		t.Error("one pod pays for another")
	}
	clock.SetTime(testNow.Add(100 * time.Millisecond))
	if wait := b.take("a"); wait != 0 {
		t.Errorf("told to wait %v after the wait", wait)
	}
	clock.SetTime(testNow.Add(2 * sweepEvery))
	b.take("c")
	if len(b.held) != 1 {
		t.Errorf("%d shares are held, want only the one in use", len(b.held))
	}
}

func TestNamespaceIsHeldToItsShareOnlyWhileBusy(t *testing.T) {
	s := newShares(Limits{PodRate: 1e6, PodBurst: 1e6, NamespaceRate: 1, NamespaceBurst: 1}, clocktesting.NewFakePassiveClock(testNow))
	from := report.Sender{Job: report.JobKey{Namespace: "team"}, PodUID: "p"}
	for range 10 {
		if _, err := s.allow(from, false); err != nil {
			t.Fatalf("refused on a quiet server: %v", err)
		}
	}
	if limit, err := s.allow(from, true); err == nil || limit != "namespace" {
		t.Errorf("limit %q, error %v on a busy server; want the namespace's", limit, err)
	}
	other := report.Sender{Job: report.JobKey{Namespace: "other"}, PodUID: "q"}
	if _, err := s.allow(other, true); err != nil {
		t.Errorf("another namespace is refused: %v", err)
	}
}
