// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// Config says where and how the door stands. Only TLS is required.
type Config struct {
	// Address is host:port to listen on; the default is ":10443". Port 0 picks a
	// free one. Ignored when Listener is set.
	Address string
	// Listener is used instead of Address when set.
	Listener net.Listener
	// TLS is the server's configuration: GetCertificate or Certificates, and
	// the versions and suites of the configuration file. HTTP/2 is spoken only
	// when its NextProtos says so.
	TLS *tls.Config
	// ProbeServerName is the name that probes ask the certificate for. Empty
	// sends none.
	ProbeServerName string
	// Limits replaces single limits; zero fields keep their default.
	Limits Limits
	// DrainTimeout bounds the wait for open requests when stopping; default 5 s.
	DrainTimeout time.Duration
	// LameDuck is how long new connections are still taken after the end was
	// announced, so that those who route to this replica can learn of it;
	// default 0.
	LameDuck time.Duration
	// Logger is used as it is; the zero value discards.
	Logger logr.Logger
	// Clock is the time of limits and latencies; the default is the real one.
	Clock clock.PassiveClock
	// Observer may be nil.
	Observer Observer
}

// Limits protect the server from its callers. Every field has a default that
// suits a cluster, so that a Config normally leaves them all out.
type Limits struct {
	// BodyBytes is the largest accepted body; default 64 KiB.
	BodyBytes int64
	// HeaderBytes is the largest accepted header; default 16 KiB.
	HeaderBytes int
	// HeaderTimeout bounds the header, counted from the first byte or, on a new
	// connection, from the handshake; default 5 s.
	HeaderTimeout time.Duration
	// BodyTimeout bounds the whole request; default 10 s.
	BodyTimeout time.Duration
	// WriteTimeout bounds the answer, the wait for the store included; default 15 s.
	WriteTimeout time.Duration
	// IdleTimeout is how long a connection may wait for its next request;
	// default 120 s.
	IdleTimeout time.Duration
	// Connections is the largest number of open connections; default 8192. One
	// costs some 40 KiB.
	Connections int
	// PodConnections is the largest number of one pod; default 64.
	PodConnections int
	// AddressConnections is the largest number of one address whose callers are
	// not proven; default 1024.
	AddressConnections int
	// InFlight is the largest number of requests being answered; default 4096.
	InFlight int
	// PodRate and PodBurst are the share of one pod in requests per second;
	// defaults 200 and 400.
	PodRate, PodBurst float64
	// NamespaceRate and NamespaceBurst are the share of one namespace while the
	// server is busy; defaults 2000 and 4000 requests per second.
	NamespaceRate, NamespaceBurst float64
	// StrangerRate and StrangerBurst are how many failed proofs of one address
	// are looked at; defaults 50 per second and 200. Beyond that its callers are
	// turned away unless their connection is proven.
	StrangerRate, StrangerBurst float64
}

const (
	defaultAddress       = ":10443"
	defaultDrain         = 5 * time.Second
	defaultBodyBytes     = 64 << 10
	defaultHeaderBytes   = 16 << 10
	defaultHeaderTimeout = 5 * time.Second
	defaultBodyTimeout   = 10 * time.Second
	defaultWriteTimeout  = 15 * time.Second
	defaultIdleTimeout   = 120 * time.Second
	defaultConnections   = 8192
	defaultPodConns      = 64
	defaultAddressConns  = 1024
	defaultInFlight      = 4096
	defaultPodRate       = 200
	defaultPodBurst      = 400
	defaultSpaceRate     = 2000
	defaultSpaceBurst    = 4000
	defaultStrangerRate  = 50
	defaultStrangerBurst = 200
)

// Validate reports every field that makes no sense.
func (c Config) Validate() error {
	var errs []error
	if c.TLS == nil {
		errs = append(errs, errors.New("TLS is required"))
	} else if c.TLS.GetCertificate == nil && c.TLS.GetConfigForClient == nil && len(c.TLS.Certificates) == 0 {
		errs = append(errs, errors.New("TLS needs a certificate"))
	}
	if c.Listener == nil && c.Address != "" {
		if _, _, err := net.SplitHostPort(c.Address); err != nil {
			errs = append(errs, fmt.Errorf("reading address %q: %w", c.Address, err))
		}
	}
	if c.DrainTimeout < 0 || c.LameDuck < 0 {
		errs = append(errs, errors.New("DrainTimeout and LameDuck must not be negative"))
	}
	return errors.Join(append(errs, c.Limits.validate())...)
}

func (l Limits) validate() error {
	fields := map[string]float64{
		"BodyBytes": float64(l.BodyBytes), "HeaderBytes": float64(l.HeaderBytes),
		"HeaderTimeout": float64(l.HeaderTimeout), "BodyTimeout": float64(l.BodyTimeout),
		"WriteTimeout": float64(l.WriteTimeout), "IdleTimeout": float64(l.IdleTimeout),
		"Connections": float64(l.Connections), "InFlight": float64(l.InFlight),
		"PodRate": l.PodRate, "PodBurst": l.PodBurst,
		"NamespaceRate": l.NamespaceRate, "NamespaceBurst": l.NamespaceBurst,
		"StrangerRate": l.StrangerRate, "StrangerBurst": l.StrangerBurst,
		"PodConnections": float64(l.PodConnections), "AddressConnections": float64(l.AddressConnections),
	}
	var errs []error
	for name, value := range fields {
		if value < 0 {
			errs = append(errs, fmt.Errorf("limit %s must not be negative", name))
		}
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	if c.Address == "" {
		c.Address = defaultAddress
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = defaultDrain
	}
	if c.Logger.GetSink() == nil {
		c.Logger = logr.Discard()
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Observer == nil {
		c.Observer = silent{}
	}
	c.Limits = c.Limits.withDefaults()
	return c
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.BodyBytes, defaultBodyBytes)
	setDefault(&l.HeaderBytes, defaultHeaderBytes)
	setDefault(&l.HeaderTimeout, defaultHeaderTimeout)
	setDefault(&l.BodyTimeout, defaultBodyTimeout)
	setDefault(&l.WriteTimeout, defaultWriteTimeout)
	setDefault(&l.IdleTimeout, defaultIdleTimeout)
	setDefault(&l.Connections, defaultConnections)
	setDefault(&l.PodConnections, defaultPodConns)
	setDefault(&l.AddressConnections, defaultAddressConns)
	setDefault(&l.InFlight, defaultInFlight)
	setDefault(&l.PodRate, defaultPodRate)
	setDefault(&l.PodBurst, defaultPodBurst)
	setDefault(&l.NamespaceRate, defaultSpaceRate)
	setDefault(&l.NamespaceBurst, defaultSpaceBurst)
	setDefault(&l.StrangerRate, defaultStrangerRate)
	setDefault(&l.StrangerBurst, defaultStrangerBurst)
	return l
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// silent is the observer of a server that nobody watches.
type silent struct{}

func (silent) Answered(string, int, float64) {}
func (silent) Refused(string)                {}
func (silent) Limited(string)                {}
