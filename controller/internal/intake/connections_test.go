// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// heard is what an answer says besides its body.
type heard struct {
	code       int
	retryAfter string
	// leave tells that the connection is not to be used again.
	leave bool
}

// ask sends a GET over a connection and returns the answer.
func ask(t *testing.T, conn *tls.Conn, token string) heard {
	t.Helper()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path, token)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("reading the answer: %v", err)
	}
	defer resp.Body.Close()
	return heard{code: resp.StatusCode, retryAfter: resp.Header.Get("Retry-After"), leave: resp.Close}
}

// idle waits until so many connections wait for a request: a client has its
// answer a moment before the server is done with it.
func (r *rig) idle(strangers, known int) {
	r.t.Helper()
	c := r.server.door.conns
	waitFor(r.t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.strangers.Len() == strangers && c.known.Len() == known
	})
}

func wantClosed(t *testing.T, conn *tls.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, err := conn.Read(make([]byte, 1))
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection is still open: %v", err)
	}
}

func wantCode(t *testing.T, got heard, code int) {
	t.Helper()
	if got.code != code {
		t.Errorf("answer %d, want %d", got.code, code)
	}
}

func TestConnectionsOfOneCaller(t *testing.T) {
	t.Run("a pod with too many connections loses the one that waits longest", func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Limits.PodConnections = 2 })
		var conns []*tls.Conn
		for i := range 3 {
			conn := r.dial(r.ca.ClientConfig())
			defer conn.Close()
			conns = append(conns, conn)
			wantCode(t, ask(t, conn, "good"), http.StatusOK)
			r.idle(0, min(i+1, 2))
		}
		wantClosed(t, conns[0])
		wantCode(t, ask(t, conns[1], "good"), http.StatusOK)
		wantCode(t, ask(t, conns[2], "good"), http.StatusOK)
	})
	t.Run("an address with too many connections loses one that proved nothing", func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Limits.AddressConnections = 1 })
		proven := r.dial(r.ca.ClientConfig())
		defer proven.Close()
		wantCode(t, ask(t, proven, "good"), http.StatusOK)
		silent := r.dial(r.ca.ClientConfig())
		defer silent.Close()
		wantCode(t, ask(t, silent, "forged"), http.StatusUnauthorized)
		r.idle(1, 1)
		next := r.dial(r.ca.ClientConfig())
		defer next.Close()
		wantClosed(t, silent)
		wantCode(t, ask(t, proven, "good"), http.StatusOK)
		wantCode(t, ask(t, next, "good"), http.StatusOK)
	})
	t.Run("strangers give way before those that report", func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Limits.Connections = 2 })
		proven := r.dial(r.ca.ClientConfig())
		defer proven.Close()
		wantCode(t, ask(t, proven, "good"), http.StatusOK)
		silent := r.dial(r.ca.ClientConfig())
		defer silent.Close()
		wantCode(t, ask(t, silent, "forged"), http.StatusUnauthorized)
		r.idle(1, 1)
		next := r.dial(r.ca.ClientConfig())
		defer next.Close()
		wantClosed(t, silent)
		wantCode(t, ask(t, proven, "good"), http.StatusOK)
	})
}

func TestFailedProofsOfOneAddress(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Limits.StrangerRate, c.Limits.StrangerBurst = 0.5, 3 })
	proven, stranger := r.dial(r.ca.ClientConfig()), r.dial(r.ca.ClientConfig())
	defer proven.Close()
	defer stranger.Close()
	wantCode(t, ask(t, proven, "good"), http.StatusOK)
	for range 3 {
		wantCode(t, ask(t, stranger, "forged"), http.StatusUnauthorized)
	}
	got := ask(t, stranger, "forged")
	wantCode(t, got, http.StatusTooManyRequests)
	if got.retryAfter != "2" {
		t.Errorf("Retry-After is %q, want 2", got.retryAfter)
	}
	wantCode(t, ask(t, proven, "good"), http.StatusOK)
}

func TestAServerThatLeavesAnswersOnAndSendsClientsElsewhere(t *testing.T) {
	r := newRig(t, func(c *Config) { c.LameDuck = 500 * time.Millisecond })
	open := r.dial(r.ca.ClientConfig())
	defer open.Close()
	wantCode(t, ask(t, open, "good"), http.StatusOK)
	stopped := make(chan error, 1)
	go func() { stopped <- r.stop() }()
	waitFor(t, r.server.door.leaving.Load)
	got := ask(t, open, "good")
	wantCode(t, got, http.StatusOK)
	if !got.leave {
		t.Error("the client is not told to connect anew")
	}
	late := r.dial(r.ca.ClientConfig())
	defer late.Close()
	wantCode(t, ask(t, late, "good"), http.StatusOK)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestAddressOf(t *testing.T) {
	cases := map[string]struct{ remote, want string }{
		"IPv4 stands alone":                {"10.1.2.3:55", "10.1.2.3"},
		"IPv4 within IPv6 is IPv4":         {"[::ffff:10.1.2.3]:55", "10.1.2.3"},
		"IPv6 counts by network":           {"[fd00:1:2:3:4:5:6:7]:55", "fd00:1:2:3::/64"},
		"a zone does not make it another":  {"[fe80::1%eth0]:55", "fe80::/64"},
		"what cannot be read stays itself": {"somewhere", "somewhere"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, addressOf(remote(tc.remote))); diff != "" {
				t.Errorf("address (-want +got):\n%s", diff)
			}
		})
	}
}

// remote is an address as net.Conn has it.
type remote string

func (remote) Network() string  { return "tcp" }
func (r remote) String() string { return string(r) }
