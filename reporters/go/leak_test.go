// SPDX-License-Identifier: Apache-2.0

package milepost

import (
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/reporters/go/internal/hooks"
	"github.com/milepost-dev/milepost/reporters/go/internal/servertest"
)

// silent is a server that accepts connections and never speaks. It counts those that are open.
type silent struct {
	net.Listener
	open, all atomic.Int32
	group     sync.WaitGroup
}

func listenSilently(t *testing.T) *silent {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &silent{Listener: listener}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.open.Add(1)
			s.all.Add(1)
			s.group.Add(1)
			go func() { // until the other side goes away
				defer s.group.Done()
				buffer := make([]byte, 1024)
				for {
					if _, err := conn.Read(buffer); err != nil {
						s.open.Add(-1)
						_ = conn.Close()
						return
					}
				}
			}()
		}
	}()
	t.Cleanup(func() { _ = listener.Close() })
	return s
}

func TestDeadEndpointLeavesNothingBehind(t *testing.T) {
	servertest.Start(t)
	server := listenSilently(t)
	t.Setenv(envURL, "https://"+server.Addr().String()+"/status")
	m := Start(WithHooks(hooks.Hooks{TimeScale: 0.001, LimitScale: 0.004}), WithLogger(discard))
	m.Report(Step(1, 10))
	await(t, "20 attempts", func() bool { return server.all.Load() >= 20 })
	if open := server.open.Load(); open > 2 {
		t.Errorf("%d of %d connections are open at the same time", open, server.all.Load())
	}
	m.Close()
	await(t, "the end of all connections", func() bool { return server.open.Load() == 0 })
	await(t, "the end of all goroutines", func() bool {
		stacks := make([]byte, 1<<20)
		text := string(stacks[:runtime.Stack(stacks, true)])
		return !strings.Contains(text, "net/http.(*Transport)") && !strings.Contains(text, "milepost.(*sender)")
	})
}

// await waits until something is true, at most 10 s.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	end := time.After(10 * time.Second)
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !is() {
		select {
		case <-again.C:
		case <-end:
			t.Fatalf("waiting for %s took too long", what)
		}
	}
}
