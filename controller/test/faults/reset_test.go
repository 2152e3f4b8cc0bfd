// SPDX-License-Identifier: Apache-2.0

//go:build unix

package faults

import (
	"context"
	"crypto/tls"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/reportlink"
	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
	"github.com/milepost-dev/milepost/controller/internal/testkit/rapidreset"
)

// TestRapidReset attacks a server that has HTTP/2 switched on.
func TestRapidReset(t *testing.T) {
	s := require(t)
	// A budget above what is sent, so that answers wait for the server alone.
	m := s.manager(t, s.plane.Config, livemanager.Options{NextProtos: []string{"h2", "http/1.1"}, QPS: 2 * offered, Burst: 2 * offered})
	f := launch(t, plan{jobs: s.jobs, client: newClients(t, m), address: m.Address(), withoutFinals: true})
	rate := f.flow(t)
	victim := s.victim(t, "resets")
	forgeTarget{client: newClients(t, m)(), url: m.URL(namespace, victim.name)}.awaitKnown(t, victim)
	c := newCaller(t, m)
	c.trust = c.trust.Clone()
	c.trust.NextProtos = []string{"h2"}
	mark := f.mark()
	const attackers = 2 // each takes all that the machine gives it
	ctx, cancel := context.WithTimeout(t.Context(), scale(4*time.Second, 30*time.Second))
	defer cancel()
	var conns, streams atomic.Int64
	var wg sync.WaitGroup
	for range attackers {
		wg.Go(func() {
			for ctx.Err() == nil {
				if n := c.reset(ctx, reportlink.Path(namespace, victim.name), victim.token); n > 0 {
					conns.Add(1)
					streams.Add(int64(n))
				}
			}
		})
	}
	wg.Wait()
	memory := measure(t, m).memory
	f.stop()
	meanwhile := f.since(mark)
	checkHonest(t, meanwhile)
	if streams.Load() < 1000 {
		t.Errorf("void: only %d streams were reset", streams.Load())
	}
	if memory > memoryLimit {
		t.Errorf("the manager took %d MiB", memory>>20)
	}
	s.note(t, "under %.0f reports/s; %d streams opened and reset over %d HTTP/2 connections; %d MiB; honest p99 %s, none failed",
		rate, streams.Load(), conns.Load(), memory>>20, p99(meanwhile).Round(time.Millisecond))
}

// reset makes one connection and resets streams on it until the server has
// enough. It returns how many; 0 when there was no HTTP/2 connection.
func (c caller) reset(ctx context.Context, path, token string) int {
	conn, err := c.dial(ctx)
	if err != nil {
		return 0
	}
	defer conn.Close()
	if conn.(*tls.Conn).ConnectionState().NegotiatedProtocol != "h2" {
		return 0
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	a, err := rapidreset.New(conn)
	if err != nil {
		return 0
	}
	sent := make(chan int, 1)
	go func() { sent <- a.Attack(path, token, 5000) }()
	_, _ = a.Farewell() // how it ends is the server's choice
	_ = conn.Close()
	return <-sent
}
