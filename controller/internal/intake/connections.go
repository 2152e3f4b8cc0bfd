// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// connections bounds the number of open connections. When it is reached, the
// connection goes that has waited longest without a request: a caller that
// opens thousands and sends nothing loses its own, and those who report stay.
type connections struct {
	limit   int
	evicted func()

	mu sync.Mutex
	// waiting holds the connections without a request, longest first.
	waiting *list.List
	open    map[net.Conn]*list.Element
}

func newConnections(limit int, evicted func()) *connections {
	return &connections{limit: limit, evicted: evicted, waiting: list.New(), open: map[net.Conn]*list.Element{}}
}

// changed is the ConnState hook of the server.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	if victim := c.note(conn, state); victim != nil {
		c.evicted()
		_ = rawConn(victim).Close()
	}
}

func (c *connections) note(conn net.Conn, state http.ConnState) (victim net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	place, known := c.open[conn]
	if place != nil {
		c.waiting.Remove(place)
		c.open[conn] = nil
	}
	switch state {
	case http.StateNew:
		if len(c.open) >= c.limit {
			victim = c.longest(conn)
		}
		c.open[conn] = c.waiting.PushBack(conn)
	case http.StateIdle:
		if known {
			c.open[conn] = c.waiting.PushBack(conn)
		}
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	case http.StateActive:
	}
	return victim
}

// longest takes the connection off the list that waits longest; the new one
// itself when every other has a request.
func (c *connections) longest(fresh net.Conn) net.Conn {
	first := c.waiting.Front()
	if first == nil {
		return fresh
	}
	victim := c.waiting.Remove(first).(net.Conn)
	c.open[victim] = nil
	return victim
}

// rawConn is the connection below TLS. Closing the TLS one would first send a
// farewell, and wait for a peer that may not read.
func rawConn(conn net.Conn) net.Conn {
	if wrapped, ok := conn.(interface{ NetConn() net.Conn }); ok {
		return wrapped.NetConn()
	}
	return conn
}
