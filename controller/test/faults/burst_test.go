// SPDX-License-Identifier: Apache-2.0

//go:build unix

package faults

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
)

// recovery is how long the clients of a burst may take until each has been
// answered with 200.
const recovery = 30 * time.Second

// TestBurst sends thousands of reports at once, over connections that are open
// already, as when many jobs begin together.
func TestBurst(t *testing.T) {
	s := require(t)
	m := s.manager(t, s.plane.Config, livemanager.Options{})
	f := launch(t, plan{jobs: s.jobs, client: newClients(t, m), address: m.Address(), withoutFinals: true})
	rate := f.flow(t)
	reports, perClient := scale(1000, 5000), 5
	clients := s.connected(t, m, reports/perClient)
	begun := time.Now()
	first := sendAll(t, clients, perClient)
	took := time.Since(begun)
	limited := 0
	for _, r := range first {
		switch {
		case r.code == http.StatusTooManyRequests && isSeconds(r.retryAfter):
			limited++
		case r.code != http.StatusOK:
			t.Fatalf("a report of the burst is answered %d, Retry-After %q (%v), want 200 or 429 with seconds", r.code, r.retryAfter, r.err)
		}
	}
	recovered := s.recover(t, clients)
	f.stop()
	for _, r := range failed(f.since(0)) {
		if r.code != http.StatusTooManyRequests || !isSeconds(r.retryAfter) {
			t.Errorf("a report beside the burst is answered %d (%v)", r.code, r.err)
		}
	}
	s.wantStored(t, patience, ackedReports(s.jobs))
	s.note(t, "under %.0f reports/s; %d reports of %d clients at once answered within %s, %d of them 429 with Retry-After, no other error, p99 %s; every client taken again %s later",
		rate, len(first), len(clients), took.Round(time.Millisecond), limited, p99(first).Round(time.Millisecond), recovered.Round(time.Millisecond))
}

// connected makes clients that have an open connection each.
func (s *site) connected(t *testing.T, m *livemanager.Manager, n int) []*sender {
	t.Helper()
	newClient := newClients(t, m)
	senders := make([]*sender, n)
	gate := make(chan struct{}, 16)
	var wg sync.WaitGroup
	for i := range senders {
		j := s.jobs[i%len(s.jobs)]
		senders[i] = &sender{job: j, client: newClient(), url: m.URL(namespace, j.name)}
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			if code, _, err := post(t.Context(), senders[i].client, senders[i].url, j.token, `{}`); code != http.StatusOK {
				t.Errorf("connecting is answered %d (%v)", code, err)
			}
		})
	}
	wg.Wait()
	t.Cleanup(func() {
		for _, c := range senders {
			c.client.CloseIdleConnections()
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	return senders
}

// sendAll has each client send so many reports one after the other, all clients
// at a time.
func sendAll(t *testing.T, clients []*sender, each int) []sent {
	t.Helper()
	out := make([]sent, len(clients)*each)
	var wg sync.WaitGroup
	for i, c := range clients {
		// A burst is more than 5 s of a client may bear only where the machine is slow.
		c.client.Timeout = recovery
		wg.Go(func() {
			for n := range each {
				out[i*each+n] = c.report(t.Context())
			}
		})
	}
	wg.Wait()
	return out
}

// recover has each client report until it is answered with 200, waiting as it is
// told to, and returns how long the slowest took.
func (s *site) recover(t *testing.T, clients []*sender) time.Duration {
	t.Helper()
	begun := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), recovery)
	defer cancel()
	var wg sync.WaitGroup
	for _, c := range clients {
		wg.Go(func() {
			if err := c.untilTaken(ctx); err != nil {
				t.Errorf("a client does not recover: %v", err)
			}
		})
	}
	wg.Wait()
	return time.Since(begun)
}

func (s *sender) untilTaken(ctx context.Context) error {
	for {
		r := s.report(ctx)
		if r.code == http.StatusOK {
			return nil
		}
		seconds, err := strconv.Atoi(r.retryAfter)
		if err != nil {
			return fmt.Errorf("answer %d, Retry-After %q: %w", r.code, r.retryAfter, r.err)
		}
		wait := time.NewTimer(time.Duration(seconds) * time.Second)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return ctx.Err()
		}
	}
}
