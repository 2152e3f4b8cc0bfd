// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

// answer is what the server said to one report.
type answer struct {
	code       int
	retryAfter time.Duration // 0 where the server named none
	warned     bool
}

// dialer opens TLS connections as a Python client with OpenSSL 3.0 does: no session is resumed, and
// the key exchange is X25519.
type dialer struct {
	address string
	tls     *tls.Config
}

func newDialer(p *Plan) (*dialer, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(p.CA) {
		return nil, errors.New("the plan's CA is not a certificate in PEM")
	}
	return &dialer{address: p.Address, tls: &tls.Config{
		RootCAs:                roots,
		ServerName:             p.ServerName,
		MinVersion:             tls.VersionTLS12,
		CurvePreferences:       []tls.CurveID{tls.X25519},
		SessionTicketsDisabled: true,
		NextProtos:             []string{"http/1.1"},
	}}, nil
}

// failure is a report without an answer. Its kind is what the tables count.
type failure struct {
	kind string
	err  error
}

func (f *failure) Error() string { return f.kind + ": " + f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// Kinds of failure that a client can tell apart.
const (
	failedConnect   = "connect"
	failedHandshake = "handshake"
	failedTimeout   = "timeout"
	failedReset     = "reset"
	failedClosed    = "closed"
	failedProtocol  = "protocol"
	failedExpired   = "expired" // no client was free before the report's time was up
)

// asFailure names the kind of err; stage is the kind of errors that say no more than that.
func asFailure(stage string, err error) *failure {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return &failure{failedTimeout, err}
	}
	switch {
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return &failure{failedReset, err}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &failure{failedClosed, err}
	}
	return &failure{stage, err}
}

// client is one connection and its buffers. It is used by one goroutine at a time.
//
// net/http's client passes every request through three goroutines and was measured to cost twice
// the CPU time of this one (23 against 12 µs a report), about as much as the echo server itself. On
// a machine that the generator shares with the server, that would flatter every ratio.
type client struct {
	dialer *dialer
	conn   *tls.Conn
	reader *bufio.Reader
	buffer []byte // whole requests
	body   []byte // of the report being sent
}

func newClient(d *dialer) *client {
	return &client{dialer: d, buffer: make([]byte, 0, 4096), body: make([]byte, 0, 1024)}
}

// send posts one report and waits for the answer until the deadline. After a failure the next call
// opens a new connection.
func (c *client) send(ctx context.Context, deadline time.Time, head, body []byte, reconnect bool) (answer, error) {
	if reconnect {
		c.close()
	}
	reused := c.conn != nil
	got, begun, err := c.attempt(ctx, deadline, head, body)
	if err != nil && reused && !begun && !isTimeout(err) {
		// The server closed the connection while it was idle. Clients notice before they send;
		// here it is noticed now, and nothing was lost.
		got, _, err = c.attempt(ctx, deadline, head, body)
	}
	return got, err
}

func isTimeout(err error) bool {
	return kindOf(err) == failedTimeout
}

// attempt tells in begun whether any byte of an answer arrived.
func (c *client) attempt(ctx context.Context, deadline time.Time, head, body []byte) (got answer, begun bool, err error) {
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if c.conn == nil {
		if err := c.dial(ctx, deadline); err != nil {
			return answer{}, true, err // nothing to repeat: the connection was new
		}
	}
	if err := c.conn.SetDeadline(deadline); err != nil {
		return answer{}, false, asFailure(failedConnect, err)
	}
	c.buffer = appendRequest(c.buffer[:0], head, body)
	if _, err := c.conn.Write(c.buffer); err != nil {
		return answer{}, false, asFailure(failedProtocol, err)
	}
	if _, err := c.reader.Peek(1); err != nil {
		return answer{}, false, asFailure(failedProtocol, err)
	}
	got, err = c.read()
	return got, true, err
}

func (c *client) dial(ctx context.Context, deadline time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.dialer.address)
	if err != nil {
		return asFailure(failedConnect, err)
	}
	conn := tls.Client(raw, c.dialer.tls)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		if errors.Is(err, context.DeadlineExceeded) {
			return &failure{failedTimeout, err}
		}
		return asFailure(failedHandshake, err)
	}
	c.conn = conn
	if c.reader == nil {
		c.reader = bufio.NewReader(conn)
	}
	c.reader.Reset(conn)
	return nil
}

func (c *client) read() (answer, error) {
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return answer{}, asFailure(failedProtocol, err)
	}
	_, err = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close() // reads from memory and c.conn, which is closed below
	if err != nil {
		return answer{}, asFailure(failedProtocol, err)
	}
	if response.Close {
		c.close()
	}
	return answer{
		code:       response.StatusCode,
		retryAfter: parseRetryAfter(response.Header.Get("Retry-After")),
		warned:     response.Header.Get("Warning") != "",
	}, nil
}

func (c *client) close() {
	if c.conn == nil {
		return
	}
	// A client that is done closes the socket; waiting for the server's own farewell is not its job.
	_ = c.conn.NetConn().Close()
	c.conn = nil
}

// parseRetryAfter reads a number of seconds; servers measured here never send a date.
func parseRetryAfter(value string) time.Duration {
	seconds, err := strconv.Atoi(value)
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

var _ error = (*failure)(nil)

// kindOf is the kind of a failure, for the tables.
func kindOf(err error) string {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.kind
	}
	return fmt.Sprintf("%T", err)
}
