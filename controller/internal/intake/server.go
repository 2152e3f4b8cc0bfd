// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	"github.com/milepost-dev/milepost/controller/internal/reportapi"
)

const (
	protoHTTP1 = "http/1.1"
	protoHTTP2 = "h2"
	// maxStreams bounds the requests at a time of one HTTP/2 connection.
	maxStreams = 64
	// probeTimeout bounds the handshake of a probe.
	probeTimeout = 2 * time.Second
)

// Server is the HTTPS door. It is a Runnable that runs on every replica.
type Server struct {
	cfg  Config
	door *door
	http *http.Server

	// address is where the server listens; nil before and after.
	address atomic.Pointer[net.TCPAddr]
	// leaving is set when the server is about to stop.
	leaving atomic.Bool
}

// New returns a Server that is not listening yet.
func New(cfg Config, identity Identity, rules Rules, store Store) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("checking the configuration of the report endpoint: %w", err)
	}
	cfg = cfg.withDefaults()
	d := &door{
		limits: cfg.Limits, identity: identity, shares: newShares(cfg.Limits, cfg.Clock),
		conns:    newConnections(cfg.Limits, cfg.Observer.Limited),
		observer: cfg.Observer, log: cfg.Logger, clock: cfg.Clock,
	}
	d.next = routes(&handlers{rules: rules, store: store}, d)
	return &Server{cfg: cfg, door: d, http: newHTTPServer(cfg, d)}, nil
}

func routes(h *handlers, d *door) http.Handler {
	fail := func(w http.ResponseWriter, r *http.Request, err error) {
		d.refuse(r.Context(), w, visitOf(r.Context()), err)
	}
	strict := reportapi.NewStrictHandlerWithOptions(h, nil, reportapi.StrictHTTPServerOptions{
		RequestErrorHandlerFunc: fail, ResponseErrorHandlerFunc: fail,
	})
	return reportapi.HandlerWithOptions(strict, reportapi.StdHTTPServerOptions{ErrorHandlerFunc: fail})
}

func newHTTPServer(cfg Config, d *door) *http.Server {
	l := cfg.Limits
	return &http.Server{
		Handler:           d,
		TLSConfig:         cfg.TLS.Clone(),
		Protocols:         protocols(cfg.TLS.NextProtos),
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ReadHeaderTimeout: l.HeaderTimeout,
		ReadTimeout:       l.BodyTimeout,
		WriteTimeout:      l.WriteTimeout,
		IdleTimeout:       l.IdleTimeout,
		MaxHeaderBytes:    l.HeaderBytes,
		ConnContext:       d.conns.attach,
		ConnState:         d.conns.changed,
		// What clients do wrong below HTTP is their matter, and there can be a lot of it.
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(cfg.Logger.V(2)), slog.LevelInfo),
	}
}

// protocols speaks HTTP/2 only when it is asked for by name.
func protocols(names []string) *http.Protocols {
	var p http.Protocols
	p.SetHTTP2(slices.Contains(names, protoHTTP2))
	p.SetHTTP1(len(names) == 0 || slices.Contains(names, protoHTTP1))
	return &p
}

// NeedLeaderElection is false: every replica accepts reports.
func (s *Server) NeedLeaderElection() bool { return false }

// Start serves until the context ends. Then it says that it is not ready, takes
// no new connections after LameDuck, waits up to DrainTimeout for open requests
// and returns nil. The store behind it must outlive it.
func (s *Server) Start(ctx context.Context) error {
	listener := s.cfg.Listener
	if listener == nil {
		var err error
		if listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", s.cfg.Address); err != nil {
			return fmt.Errorf("listening for reports: %w", err)
		}
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return fmt.Errorf("listening for reports: %v is not a TCP address", listener.Addr())
	}
	s.cfg.Logger.Info("taking reports", "address", address.String())
	served := make(chan error, 1)
	go func() { served <- s.http.ServeTLS(listener, "", "") }()
	s.address.Store(address)
	defer s.address.Store(nil)
	select {
	case err := <-served:
		return fmt.Errorf("serving reports: %w", err)
	case <-ctx.Done():
	}
	s.stop(context.WithoutCancel(ctx), served)
	return nil
}

func (s *Server) stop(ctx context.Context, served <-chan error) {
	s.leaving.Store(true)
	// Answers now tell clients to connect anew, which leads them elsewhere. Only
	// afterwards are connections closed that wait: a report may be on its way.
	s.door.leaving.Store(true)
	if s.cfg.LameDuck > 0 {
		lame, cancel := context.WithTimeout(ctx, s.cfg.LameDuck)
		select {
		case <-lame.Done():
		case err := <-served:
			s.cfg.Logger.Error(err, "serving reports ended early")
		}
		cancel()
	}
	s.http.SetKeepAlivesEnabled(false)
	drain, cancel := context.WithTimeout(ctx, s.cfg.DrainTimeout)
	defer cancel()
	if err := s.http.Shutdown(drain); err != nil {
		s.cfg.Logger.Info("closing with requests open", "reason", err.Error())
		_ = s.http.Close()
	}
	s.cfg.Logger.Info("no longer taking reports")
}

// Address returns where the server listens, or "" when it does not.
func (s *Server) Address() string {
	if address := s.address.Load(); address != nil {
		return address.String()
	}
	return ""
}

// ReadyCheck is a readiness probe: it shakes hands with the server's own port,
// so that ready means that a report would be taken now.
func (s *Server) ReadyCheck(r *http.Request) error {
	if s.leaving.Load() {
		return errors.New("the report endpoint is stopping")
	}
	return s.shakeHands(r.Context())
}

// LiveCheck is a liveness probe. It is content while the server stops, and
// before it listens: caches may take long to fill, and a restart would only make
// them begin again.
func (s *Server) LiveCheck(r *http.Request) error {
	if s.leaving.Load() || s.address.Load() == nil {
		return nil
	}
	return s.shakeHands(r.Context())
}

func (s *Server) shakeHands(ctx context.Context) error {
	address := s.address.Load()
	if address == nil {
		return errors.New("the report endpoint is not listening")
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	dialer := tls.Dialer{Config: &tls.Config{
		// The question is whether the port speaks TLS, not whether to trust it.
		InsecureSkipVerify: true, //nolint:gosec // it talks to itself and sends nothing
		ServerName:         s.cfg.ProbeServerName,
		NextProtos:         []string{protoHTTP1},
		MinVersion:         tls.VersionTLS12,
	}}
	conn, err := dialer.DialContext(ctx, "tcp", loopback(address))
	if err != nil {
		return fmt.Errorf("shaking hands with the report endpoint: %w", err)
	}
	return conn.Close()
}

// loopback is how a process reaches a port of its own.
func loopback(address *net.TCPAddr) string {
	if !address.IP.IsUnspecified() {
		return address.String()
	}
	return (&net.TCPAddr{Port: address.Port}).String()
}
