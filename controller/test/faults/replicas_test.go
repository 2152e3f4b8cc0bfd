// SPDX-License-Identifier: Apache-2.0

//go:build unix

package faults

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
)

// serviceLag is how long after its end was announced a replica is still sent new
// connections.
const serviceLag = time.Second

// service stands for the Service of the manager: it spreads new connections over
// the replicas that it knows.
type service struct {
	mu       sync.Mutex
	replicas []*livemanager.Manager
	next     int
}

func (v *service) add(m *livemanager.Manager) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.replicas = append(v.replicas, m)
}

func (v *service) remove(m *livemanager.Manager) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.replicas = slices.DeleteFunc(v.replicas, func(r *livemanager.Manager) bool { return r == m })
}

func (v *service) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	v.mu.Lock()
	v.next++
	address := v.replicas[v.next%len(v.replicas)].Address()
	v.mu.Unlock()
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

func (v *service) clients(trust *tls.Config) func() *http.Client {
	return func() *http.Client {
		return &http.Client{Timeout: clientTimeout, Transport: &http.Transport{TLSClientConfig: trust, DialContext: v.dial}}
	}
}

// TestReplicas replaces two replicas one after the other under many clients, of
// which several report for the same job at a time, and then kills the leader.
func TestReplicas(t *testing.T) {
	s := require(t)
	opts := livemanager.Options{LeaderElect: true}
	old := []*livemanager.Manager{s.manager(t, s.plane.Config, opts), s.manager(t, s.plane.Config, opts)}
	front := &service{}
	for _, m := range old {
		front.add(m)
	}
	perJob := scale(5, 25)
	f := launch(t, plan{jobs: s.jobs, perJob: perJob, client: front.clients(newTrust(t, old[0])), address: "service", retries: 1})
	rate := f.flow(t)
	stopWatch := s.watchFinals(t, s.jobs)
	mark := f.mark()
	for _, m := range old {
		next := s.manager(t, s.plane.Config, opts)
		front.add(next)
		retire(t, front, m)
	}
	during(t, time.Second)
	rolled := f.since(mark)
	if lost := failed(rolled); len(lost) > 0 {
		t.Errorf("%d of %d reports failed twice during the rolling update: %s", len(lost), len(rolled), describe(lost))
	}
	survivor := s.killLeader(t, front)
	mark = f.mark()
	eventually(t, patience, "reports without the leader", func() error {
		if n := len(accepted(f.since(mark))); n < len(f.senders) {
			return fmt.Errorf("%d accepted", n)
		}
		return nil
	})
	f.stop()
	reads := stopWatch()
	took := s.wantStored(t, patience, ackedReports(s.jobs))
	if reads == 0 {
		t.Error("void: nothing was read meanwhile")
	}
	if err := survivor.Probe(t.Context(), "readyz"); err != nil {
		t.Errorf("the survivor is not ready: %v", err)
	}
	retried := where(rolled, func(r sent) bool { return r.attempts > 1 })
	s.note(t, "%d clients, %.0f reports/s; 2 of 2 replicas replaced: %d of %d reports sent a second time, none a third; leader killed: reports go on; %d finals acknowledged, none lost; newest stored %s after the end",
		len(f.senders), rate, len(retried), len(rolled), len(finals(accepted(f.since(0)))), took.Round(time.Millisecond))
}

// retire ends a replica as a Deployment does: the Service learns of it a little
// later than the replica.
func retire(t *testing.T, front *service, m *livemanager.Manager) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- m.Stop() }()
	during(t, serviceLag)
	front.remove(m)
	if err := <-ended; err != nil {
		t.Errorf("replica: %v", err)
	}
}

// killLeader kills the replica that leads and returns the other one.
func (s *site) killLeader(t *testing.T, front *service) *livemanager.Manager {
	t.Helper()
	var leader *livemanager.Manager
	eventually(t, patience, "a leader", func() error {
		for _, m := range front.replicas {
			page, err := m.Metrics(t.Context())
			if err != nil {
				return err
			}
			if leads, err := metric(page, "leader_election_master_status"); err == nil && leads > 0 {
				leader = m
				return nil
			}
		}
		return errNone
	})
	if err := leader.Kill(); err != nil {
		t.Fatal(err)
	}
	during(t, poll) // kubelet sees the end of a container at once
	front.remove(leader)
	return front.replicas[0]
}
