// SPDX-License-Identifier: Apache-2.0

//go:build unix

package faults

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/reportlink"
	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
)

const (
	// headerLimit and bodyLimit are how long the server waits for a header, and
	// for a whole request.
	headerLimit = 5 * time.Second
	bodyLimit   = 10 * time.Second
	// podConnections and strangerConnections are what one pod may keep open, and
	// the callers of one address that proved nothing.
	podConnections      = 64
	strangerConnections = 1024
	// sparedFiles is the number of files that a process needs besides its
	// connections.
	sparedFiles = 500
)

// slack is how much later than promised something may be seen to happen on a
// machine that has other work.
func slack() time.Duration { return scale(8*time.Second, 2*time.Second) }

// honestLimit is the p99 that honest callers must see where their reports are not
// final: those wait for the API server. Others may wait for a write for a quarter
// of a second, and the machine has other work.
func honestLimit() time.Duration { return scale(2*time.Second, 500*time.Millisecond) }

// affordable scales a number of connections down to what the limit on open files
// allows, and says so.
func affordable(t *testing.T, wanted int) int {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if int(limit.Cur)-sparedFiles >= wanted { //nolint:gosec // a limit on files fits
		return wanted
	}
	n := int(limit.Cur) - sparedFiles //nolint:gosec // a limit on files fits
	t.Logf("the limit on open files is %d: %d connections instead of %d", limit.Cur, n, wanted)
	return n
}

// caller opens raw connections to a manager.
type caller struct {
	address string
	trust   *tls.Config
}

func newCaller(t *testing.T, m *livemanager.Manager) caller {
	t.Helper()
	trust, err := m.TLS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return caller{address: m.Address(), trust: trust}
}

func (c caller) dial(ctx context.Context) (net.Conn, error) {
	return (&tls.Dialer{Config: c.trust}).DialContext(ctx, "tcp", c.address)
}

// drip sends what is to be sent at once and then a byte at a time, until the
// server ends the connection. It returns how long that took. connected is called
// once the handshake is over.
func (c caller) drip(ctx context.Context, start string, connected func()) (time.Duration, error) {
	conn, err := c.dial(ctx)
	connected()
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	begun := time.Now()
	if _, err := conn.Write([]byte(start)); err != nil {
		return 0, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// Whatever the server says, it is over when it says no more.
		for buf := make([]byte, 512); ; {
			if _, err := conn.Read(buf); err != nil {
				return
			}
		}
	}()
	defer func() { _ = conn.Close(); <-ended }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return time.Since(begun), nil
		case <-tick.C:
			_, _ = conn.Write([]byte("x")) // fails once the server has had enough
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// drips runs many slow connections at a time and returns the slowest end.
func drips(t *testing.T, c caller, n int, limit time.Duration, start func(i int) string) time.Duration {
	t.Helper()
	// Handshakes go in small groups: a crowd of them would only measure the
	// machine.
	gate := make(chan struct{}, 16)
	var mu sync.Mutex
	var wg sync.WaitGroup
	slowest, turnedAway := time.Duration(0), 0
	for i := range n {
		gate <- struct{}{}
		wg.Go(func() {
			took, err := c.drip(t.Context(), start(i), func() { <-gate })
			mu.Lock()
			defer mu.Unlock()
			slowest = max(slowest, took)
			if err != nil {
				turnedAway++ // there were too many of this address
			}
		})
	}
	wg.Wait()
	if turnedAway > n/2 {
		t.Errorf("void: %d of %d slow connections were turned away before they were slow", turnedAway, n)
	}
	if slowest > limit+slack() {
		t.Errorf("a slow connection was closed after %s, want %s", slowest, limit)
	}
	return slowest
}

func TestSlowCallers(t *testing.T) {
	s := require(t)
	m := s.manager(t, s.plane.Config, livemanager.Options{})
	f := launch(t, plan{jobs: s.jobs, client: newClients(t, m), address: m.Address()})
	rate := f.flow(t)
	quiet := f.quiet(t)
	c := newCaller(t, m)
	headers, bodies := affordable(t, scale(400, 10000)), scale(40, 400)
	path := func(i int) string { return reportlink.Path(namespace, s.jobs[i%len(s.jobs)].name) }
	mark, begun, used := f.mark(), time.Now(), processorTime(t, m)
	var slowHeader, slowBody time.Duration
	var wg sync.WaitGroup
	wg.Go(func() {
		slowHeader = drips(t, c, headers, headerLimit, func(i int) string { return "POST " + path(i) + " HTTP/1.1\r\nHost: x\r\nX-Slow: " })
	})
	wg.Go(func() {
		slowBody = drips(t, c, bodies, bodyLimit, func(i int) string {
			return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 1000\r\n\r\n", path(i), s.jobs[i%len(s.jobs)].token)
		})
	})
	wg.Wait()
	used = processorTime(t, m) - used
	length := time.Since(begun)
	memory := measure(t, m).memory
	f.stop()
	meanwhile := f.since(mark)
	checkHonest(t, meanwhile)
	if memory > memoryLimit {
		t.Errorf("the manager took %d MiB", memory>>20)
	}
	s.note(t, "under %.0f reports/s; %d slow headers closed within %s, %d slow bodies within %s; %d MiB, %s of processor time in %s; honest p99 %s, none failed",
		rate, headers, slowHeader.Round(time.Millisecond), bodies, slowBody.Round(time.Millisecond), memory>>20,
		used.Round(100*time.Millisecond), length.Round(100*time.Millisecond), honest(quiet, meanwhile))
}

// quiet returns reports of honest callers before the fault, to compare with: what
// they wait for besides the server is the machine.
func (f *fleet) quiet(t *testing.T) []sent {
	t.Helper()
	mark := f.mark()
	during(t, scale(time.Second, 5*time.Second))
	return f.since(mark)
}

// honest tells the p99 of honest callers before and during a fault. Final reports
// are told apart: their answers wait until the API server has stored them.
func honest(before, meanwhile []sent) string {
	ms := func(list []sent) time.Duration { return p99(list).Round(time.Millisecond) }
	return fmt.Sprintf("%s (%s before; finals, with their write, %s and %s)",
		ms(others(meanwhile)), ms(others(before)), ms(finals(meanwhile)), ms(finals(before)))
}

// checkHonest fails the test when honest callers suffer.
func checkHonest(t *testing.T, list []sent) {
	t.Helper()
	if lost := failed(list); len(lost) > 0 {
		t.Errorf("%d of %d honest reports failed: %s", len(lost), len(list), describe(lost))
	}
	if slow := p99(others(list)); slow > honestLimit() {
		t.Errorf("honest p99 is %s, want %s", slow, honestLimit())
	}
	if len(list) == 0 {
		t.Error("void: no honest report was sent")
	}
}

// TestIdleConnections has a few pods, and as many callers that prove nothing, open
// connections and leave them. They lose what is too many; nobody else does.
func TestIdleConnections(t *testing.T) {
	s := require(t)
	m := s.manager(t, s.plane.Config, livemanager.Options{})
	const idlers = 10
	f := launch(t, plan{jobs: s.jobs[idlers:], client: newClients(t, m), address: m.Address()})
	rate := f.flow(t)
	quiet := f.quiet(t)
	wanted := affordable(t, scale(2000, 10000))
	mark := f.mark()
	idle := newCaller(t, m).idle(t, s.jobs[:idlers], wanted)
	defer func() {
		for _, conn := range idle {
			_ = conn.Close()
		}
	}()
	during(t, 2*time.Second)
	memory := measure(t, m).memory
	f.stop()
	meanwhile := f.since(mark)
	checkHonest(t, meanwhile)
	open := 0
	for _, conn := range idle {
		if isOpen(conn) {
			open++
		}
	}
	if most := idlers*podConnections + strangerConnections; open > most {
		t.Errorf("%d idle connections are open, want %d at most", open, most)
	}
	if open < idlers*podConnections/2 {
		t.Errorf("void: only %d idle connections are open", open)
	}
	if memory > memoryLimit {
		t.Errorf("the manager took %d MiB", memory>>20)
	}
	s.note(t, "under %.0f reports/s; %d idle connections by %d pods and strangers, %d of them still open; %d MiB; honest p99 %s, none failed",
		rate, wanted, idlers, open, memory>>20, honest(quiet, meanwhile))
}

// idle opens connections, every other one without a proof, and leaves them.
func (c caller) idle(t *testing.T, jobs []*job, wanted int) []net.Conn {
	t.Helper()
	conns := make([]net.Conn, 0, wanted)
	for i := range wanted {
		token := "stranger"
		if i%2 == 0 {
			token = jobs[i/2%len(jobs)].token
		}
		conn, err := c.askOnce(t.Context(), jobs[i/2%len(jobs)].name, token)
		if err != nil {
			t.Fatalf("idle connection %d: %v", i, err)
		}
		conns = append(conns, conn)
	}
	return conns
}

// askOnce makes one request and keeps the connection.
func (c caller) askOnce(ctx context.Context, name, token string) (net.Conn, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", reportlink.Path(namespace, name), token)
	if err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, err
	}
	return conn, resp.Body.Close()
}

// isOpen tells whether the peer has not closed a connection on which it has
// nothing to say.
func isOpen(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := conn.Read(make([]byte, 1))
	return err != nil && strings.Contains(err.Error(), "timeout")
}
