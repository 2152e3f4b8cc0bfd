// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"
)

// number is the metric that tells the reports of a case apart.
const number = "number"

// stream is one pod that reports over many connections to several replicas.
type stream struct {
	*caller
	hosts []string

	mu   sync.Mutex
	sent int
	// final is the newest final report that was answered with 200.
	final int
}

// next makes the next report; every third one is final.
func (s *stream) next() (n int, final bool, host, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent++
	n, final = s.sent, s.sent%3 == 0
	progress := 50
	if final {
		progress = 100
	}
	return n, final, s.hosts[n%len(s.hosts)], fmt.Sprintf(`{"trainerStatus":{"progressPercentage":%d,"metrics":[{"name":%q,"value":"%d"}],"lastUpdatedTime":%q}}`,
		progress, number, n, time.Now().UTC().Format(time.RFC3339Nano))
}

// send sends one report and wants it, when it is final, or a newer one stored.
func (s *stream) send() {
	n, final, host, body := s.next()
	got := s.do(http.MethodPost, body, func(r *http.Request) { r.URL.Host = host })
	if got.code != http.StatusOK {
		s.t.Errorf("report %d is answered %d %s", n, got.code, got.body)
		return
	}
	if !final {
		return
	}
	s.mu.Lock()
	s.final = max(s.final, n)
	least := s.final
	s.mu.Unlock()
	if stored := s.storedNumber(); stored < least {
		s.t.Errorf("final report %d was answered with 200, stored is %d", least, stored)
	}
}

func (s *stream) storedNumber() int {
	s.t.Helper()
	status := s.stored()
	if status == nil {
		return 0
	}
	for _, m := range status.Metrics {
		if m.Name == number {
			n, err := strconv.Atoi(m.Value)
			if err != nil {
				s.t.Error(err)
			}
			return n
		}
	}
	return 0
}

// TestOrderOverReplicas has many reports of one second race over two replicas.
func TestOrderOverReplicas(t *testing.T) {
	c := newCaller(t, "order")
	second, err := shared.replica(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := second.Stop(); err != nil {
			t.Errorf("stopping the second replica: %v", err)
		}
	})
	s := &stream{caller: c, hosts: []string{shared.manager.Address(), second.Address()}}
	var senders sync.WaitGroup
	for range 12 {
		senders.Go(func() {
			for range 15 {
				s.send()
			}
		})
	}
	senders.Wait()
	limit := time.Now().Add(5 * time.Second)
	got := s.storedNumber()
	for got != s.sent && time.Now().Before(limit) {
		got = s.storedNumber()
	}
	if got != s.sent {
		t.Errorf("stored is report %d in the end, want the newest, %d", got, s.sent)
	}
	shared.note(t, row{
		source: "design, faults 5", name: "reports of one second at two replicas", upstream: "200, last write wins",
		ours: "200", onPurpose: "a late report must not undo a newer one",
	})
}
