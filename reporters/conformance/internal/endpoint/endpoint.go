// SPDX-License-Identifier: Apache-2.0

// Package endpoint plays the status server: real TLS, answers by script, and a record of all that
// arrived and when.
//
// It owns sockets, certificates and the record. It does not own what is right: the runner compares.
package endpoint

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Mode is what the server does with new connections.
type Mode string

// Modes of a server.
const (
	Up     Mode = "up"     // they are served
	Down   Mode = "down"   // they are refused: nothing listens
	Silent Mode = "silent" // they are accepted and never served
)

// Config says how a server listens and who it is.
type Config struct {
	Listen    []string // addresses; all get the same port
	Hosts     []string // names and addresses in the certificate
	Authority *Authority
	TLS11     bool // offers nothing newer than TLS 1.1
	HTTP2     bool // offers HTTP/2 as well
}

// Request is one request as it arrived.
type Request struct {
	Method     string
	Path       string
	Proto      string
	Header     http.Header
	Length     int64 // of Content-Length, -1 when it was missing
	Body       []byte
	Connection int       // counts from 1 in the order in which connections came
	Began      time.Time // when the attempt can have begun at the latest: before a connection that was made for it
	Start      time.Time
	End        time.Time // zero as long as the answer is not complete
}

// Endpoint is a running server.
type Endpoint struct {
	Port    int
	config  Config
	server  *http.Server
	stopped chan struct{}

	mu          sync.Mutex
	mode        Mode
	certificate tls.Certificate
	listeners   []net.Listener
	open        []net.Conn // every connection that came, closed ones included
	accepted    int        // connections so far
	held        int        // of them open and not served
	answers     []Answer
	then        Answer
	requests    []Request
	changed     chan struct{} // closed and replaced at every change of the record
}

// Start begins to listen.
func Start(config Config) (*Endpoint, error) {
	e := &Endpoint{config: config, stopped: make(chan struct{}), changed: make(chan struct{})}
	if err := e.Certify(config.Authority, config.Hosts); err != nil {
		return nil, err
	}
	e.server = &http.Server{
		Handler:   http.HandlerFunc(e.serve),
		TLSConfig: &tls.Config{GetConfigForClient: e.tlsConfig},
		ErrorLog:  log.New(io.Discard, "", 0), // failed handshakes are part of the cases
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, conn)
		},
	}
	if err := e.SetMode(Up); err != nil {
		return nil, err
	}
	return e, nil
}

type connKey struct{}

// trackedConn knows its number.
type trackedConn struct {
	net.Conn
	number int
	came   time.Time
	used   bool // whether a request came over it
}

// Certify changes the certificate for new connections.
func (e *Endpoint) Certify(authority *Authority, hosts []string) error {
	certificate, err := authority.Issue(hosts)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.certificate = certificate
	return err
}

func (e *Endpoint) tlsConfig(*tls.ClientHelloInfo) (*tls.Config, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	config := &tls.Config{Certificates: []tls.Certificate{e.certificate}, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}
	if e.config.HTTP2 {
		config.NextProtos = []string{"h2", "http/1.1"}
	}
	if e.config.TLS11 {
		config.MinVersion, config.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	}
	return config, nil
}

// SetMode changes what happens to new connections.
func (e *Endpoint) SetMode(mode Mode) error {
	e.mu.Lock()
	e.mode = mode
	listeners, open := e.listeners, e.open
	if mode == Down {
		e.listeners, e.open = nil, nil
	}
	e.mu.Unlock()
	if mode == Down {
		for _, listener := range listeners {
			_ = listener.Close()
		}
		for _, conn := range open {
			_ = conn.Close()
		}
		return nil
	}
	if len(listeners) > 0 {
		return nil
	}
	return e.listen()
}

// listen opens the same port on all addresses.
func (e *Endpoint) listen() error {
	const tries = 20 // a port that is free on one address may be taken on another
	var err error
	for range tries {
		var listeners []net.Listener
		if listeners, err = listenAll(e.config.Listen, e.Port); err != nil {
			<-time.After(20 * time.Millisecond) // the same port is free once the last listener has noticed that it is closed
			continue
		}
		e.Port = listeners[0].Addr().(*net.TCPAddr).Port
		e.mu.Lock()
		e.listeners = listeners
		e.mu.Unlock()
		for _, listener := range listeners {
			go func() { _ = e.server.ServeTLS(&filter{listener, e}, "", "") }()
		}
		return nil
	}
	return fmt.Errorf("listening on %s: %w", strings.Join(e.config.Listen, ", "), err)
}

func listenAll(addresses []string, port int) (listeners []net.Listener, err error) {
	for _, address := range addresses {
		listener, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(port)))
		if err != nil {
			for _, other := range listeners {
				_ = other.Close()
			}
			return nil, err
		}
		listeners = append(listeners, listener)
		port = listener.Addr().(*net.TCPAddr).Port
	}
	return listeners, nil
}

// filter numbers connections, and keeps them from the server in silent mode.
type filter struct {
	net.Listener
	to *Endpoint
}

func (f *filter) Accept() (net.Conn, error) {
	for {
		conn, err := f.Listener.Accept()
		if err != nil {
			return nil, err
		}
		f.to.mu.Lock()
		f.to.accepted++
		number, silent := f.to.accepted, f.to.mode == Silent
		f.to.open = append(f.to.open, conn)
		f.to.mu.Unlock()
		if !silent {
			return &trackedConn{Conn: conn, number: number, came: time.Now()}, nil
		}
		go f.to.hold(conn)
	}
}

// hold keeps a connection that is not served, until the other side goes away.
func (e *Endpoint) hold(conn net.Conn) {
	e.mu.Lock()
	e.held++
	e.mu.Unlock()
	_, _ = io.Copy(io.Discard, conn)
	_ = conn.Close()
	e.mu.Lock()
	e.held--
	e.mu.Unlock()
}

// Held is how many connections are open that were accepted in silence.
func (e *Endpoint) Held() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.held
}

// Script sets the answers to come. Then is given when they are used up.
func (e *Endpoint) Script(answers []Answer, then Answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answers, e.then = nil, then
	for _, a := range answers {
		for range max(1, a.Times) {
			e.answers = append(e.answers, a)
		}
	}
}

func (e *Endpoint) serve(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	request := Request{
		Method: r.Method, Path: r.URL.Path, Proto: r.Proto, Header: r.Header.Clone(), Length: r.ContentLength,
		Body: body, Start: start, Began: start,
	}
	e.mu.Lock()
	if conn := tracked(r); conn != nil {
		request.Connection = conn.number
		if !conn.used {
			conn.used, request.Began = true, conn.came
		}
	}
	e.requests = append(e.requests, request)
	at := len(e.requests) - 1
	answer := e.then
	if len(e.answers) > 0 {
		answer, e.answers = e.answers[0], e.answers[1:]
	}
	e.notify()
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		e.requests[at].End = time.Now()
		e.notify()
		e.mu.Unlock()
	}()
	e.give(w, r, body, answer)
}

// tracked is the connection that a request came over.
func tracked(r *http.Request) *trackedConn {
	conn, _ := r.Context().Value(connKey{}).(net.Conn)
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	found, _ := conn.(*trackedConn)
	return found
}

// notify wakes everyone who waits. The caller holds mu.
func (e *Endpoint) notify() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// Requests is the record so far.
func (e *Endpoint) Requests() []Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]Request(nil), e.requests...)
}

// Connections is how many connections came so far.
func (e *Endpoint) Connections() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.accepted
}

// Await waits until as many requests arrived, and tells whether they did in time.
func (e *Endpoint) Await(count int, within time.Duration) bool {
	end := time.NewTimer(within)
	defer end.Stop()
	for {
		e.mu.Lock()
		changed, enough := e.changed, len(e.requests) >= count
		e.mu.Unlock()
		if enough {
			return true
		}
		select {
		case <-changed:
		case <-end.C:
			return false
		}
	}
}

// Stop ends all connections.
func (e *Endpoint) Stop() error {
	close(e.stopped)
	err := errors.Join(e.SetMode(Down), e.server.Close())
	if errors.Is(err, net.ErrClosed) { // the server may not have noticed yet that its listeners are gone
		return nil
	}
	return err
}

// dated writes the HTTP date for {now+SECONDS}.
func dated(value string) string {
	seconds, isDate := strings.CutPrefix(value, "{now+")
	if !isDate {
		return value
	}
	ahead, _ := strconv.Atoi(strings.TrimSuffix(seconds, "}"))
	return time.Now().Add(time.Duration(ahead) * time.Second).UTC().Format(http.TimeFormat)
}
