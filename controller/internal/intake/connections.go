// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
)

// connections bounds the number of open connections: of all callers, of one
// pod, and of one address whose caller is not proven yet. Where a bound is
// reached the connection goes that has waited longest without a request: a
// caller that opens thousands and sends nothing loses its own, and those who
// report stay.
type connections struct {
	total, perStranger, perPod int
	// evicted hears which bound cost a connection.
	evicted func(limit string)

	mu   sync.Mutex
	open map[net.Conn]*guest
	// strangers and known hold the waiting connections, longest first.
	strangers, known *list.List
	groups           map[string]*group
}

// guest is one open connection.
type guest struct {
	conn net.Conn
	// address is that of the caller, without the port.
	address string
	// reporter is who it was last proven to be; nil before. Only a connection
	// that stands for several callers ever changes it.
	reporter atomic.Pointer[string]

	group *group
	// place and peers are where it waits, among all and in its group; nil when
	// it has a request.
	place, peer *list.Element
	shelf       *list.List
}

// group is what one caller holds.
type group struct {
	key     string
	members int
	waiting *list.List
}

const (
	limitConnections = "connections"
	limitAddress     = "addressConnections"
	limitPod         = "podConnections"
)

func newConnections(l Limits, evicted func(limit string)) *connections {
	return &connections{
		total: l.Connections, perStranger: l.AddressConnections, perPod: l.PodConnections, evicted: evicted,
		open: map[net.Conn]*guest{}, strangers: list.New(), known: list.New(), groups: map[string]*group{},
	}
}

type guestKey struct{}

// attach is the ConnContext hook of the server: requests find their connection
// in their context.
func (c *connections) attach(ctx context.Context, conn net.Conn) context.Context {
	g := &guest{conn: conn, address: addressOf(conn.RemoteAddr())}
	c.mu.Lock()
	c.open[conn] = g
	c.mu.Unlock()
	return context.WithValue(ctx, guestKey{}, g)
}

// guestOf returns the connection of a request; nil when nobody counts them.
func guestOf(ctx context.Context) *guest {
	g, _ := ctx.Value(guestKey{}).(*guest)
	return g
}

// changed is the ConnState hook of the server.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	if victim, limit := c.note(conn, state); victim != nil {
		c.evict(victim, limit)
	}
}

func (c *connections) evict(victim *guest, limit string) {
	c.evicted(limit)
	_ = rawConn(victim.conn).Close()
}

func (c *connections) note(conn net.Conn, state http.ConnState) (victim *guest, limit string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.open[conn]
	if g == nil {
		return nil, ""
	}
	c.resume(g)
	switch state {
	case http.StateNew:
		return c.welcome(g)
	case http.StateIdle:
		c.wait(g)
	case http.StateClosed, http.StateHijacked:
		c.leave(g)
		delete(c.open, conn)
	case http.StateActive:
	}
	return nil, ""
}

// welcome counts a new connection and returns the one that has to go for it.
func (c *connections) welcome(g *guest) (victim *guest, limit string) {
	c.join(g, "address "+g.address)
	switch {
	case g.group.members > c.perStranger:
		victim, limit = first(g.group.waiting), limitAddress
	case len(c.open) > c.total:
		if victim, limit = first(c.strangers), limitConnections; victim == nil {
			victim = first(c.known)
		}
	default:
		c.wait(g)
		return nil, ""
	}
	if victim == nil {
		return g, limit // all others have a request
	}
	c.resume(victim)
	c.wait(g)
	return victim, limit
}

// proven notes who a connection belongs to. It returns false when that caller
// has too many of them, none of which can be spared.
func (c *connections) proven(g *guest, reporter string) bool {
	if held := g.reporter.Load(); held != nil && *held == reporter {
		return true
	}
	victim, fits := c.assign(g, reporter)
	if victim != nil {
		c.evict(victim, limitPod)
	}
	return fits
}

func (c *connections) assign(g *guest, reporter string) (victim *guest, fits bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave(g)
	c.join(g, "pod "+reporter)
	g.reporter.Store(&reporter)
	if g.group.members <= c.perPod {
		return nil, true
	}
	if victim = first(g.group.waiting); victim == nil {
		return nil, false
	}
	c.resume(victim)
	return victim, true
}

// join puts a connection into the group of its caller.
func (c *connections) join(g *guest, key string) {
	held := c.groups[key]
	if held == nil {
		held = &group{key: key, waiting: list.New()}
		c.groups[key] = held
	}
	held.members++
	g.group = held
}

// leave takes a connection out of its group, and the group away with its last.
func (c *connections) leave(g *guest) {
	if g.group == nil {
		return
	}
	c.resume(g)
	if g.group.members--; g.group.members == 0 {
		delete(c.groups, g.group.key)
	}
	g.group = nil
}

// wait puts a connection behind those that wait longer for a request.
func (c *connections) wait(g *guest) {
	g.shelf = c.strangers
	if g.reporter.Load() != nil {
		g.shelf = c.known
	}
	g.place, g.peer = g.shelf.PushBack(g), g.group.waiting.PushBack(g)
}

// resume takes a connection off the lists of those that wait.
func (c *connections) resume(g *guest) {
	if g.place == nil {
		return
	}
	g.shelf.Remove(g.place)
	g.group.waiting.Remove(g.peer)
	g.place, g.peer = nil, nil
}

func first(waiting *list.List) *guest {
	if element := waiting.Front(); element != nil {
		return element.Value.(*guest)
	}
	return nil
}

// addressOf is what tells the callers of unproven connections apart: the address
// without the port, and of IPv6 the network, which one machine has for itself.
func addressOf(remote net.Addr) string {
	const network = 64
	held, err := netip.ParseAddrPort(remote.String())
	if err != nil {
		return remote.String()
	}
	address := held.Addr().Unmap().WithZone("")
	if address.Is4() {
		return address.String()
	}
	prefix, err := address.Prefix(network)
	if err != nil {
		return address.String()
	}
	return prefix.String()
}

// rawConn is the connection below TLS. Closing the TLS one would first send a
// farewell, and wait for a peer that may not read.
func rawConn(conn net.Conn) net.Conn {
	if wrapped, ok := conn.(interface{ NetConn() net.Conn }); ok {
		return wrapped.NetConn()
	}
	return conn
}
