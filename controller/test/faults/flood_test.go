// SPDX-License-Identifier: Apache-2.0

//go:build unix

package faults

import (
	"net/http"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
)

// TestFloodingPod has one pod send far more than its share beside others.
func TestFloodingPod(t *testing.T) {
	s := require(t)
	// A budget above what the others need, so that their answers wait for nothing
	// but each other.
	m := s.manager(t, s.plane.Config, livemanager.Options{QPS: 2 * offered, Burst: 2 * offered})
	quietJobs, flooder := s.jobs[1:], s.jobs[:1]
	quiet := launch(t, plan{jobs: quietJobs, client: newClients(t, m), address: m.Address(), withoutFinals: true})
	rate := quiet.flow(t)
	length := scale(5*time.Second, 30*time.Second)
	mark := quiet.mark()
	during(t, length)
	before := quiet.since(mark)
	mark = quiet.mark()
	// Senders of the flood get in each other's way at the store; that is theirs.
	flood := launch(t, plan{
		jobs: flooder, perJob: 32, rate: 1000, client: newClients(t, m), address: m.Address(), withoutFinals: true,
	})
	during(t, length)
	meanwhile, flooded := quiet.since(mark), flood.since(0)
	flood.stop()
	quiet.stop()
	checkHonest(t, meanwhile)
	// Short runs compare a few hundred answers on a busy machine.
	if most := scale[time.Duration](4, 2)*p99(before) + scale(detected(250*time.Millisecond, 2*time.Second), 5*time.Millisecond); p99(meanwhile) > most {
		t.Errorf("p99 of the others went from %s to %s", p99(before), p99(meanwhile))
	}
	limited := where(flooded, func(r sent) bool { return r.code == http.StatusTooManyRequests })
	for _, r := range failed(flooded) {
		if r.code != http.StatusTooManyRequests || !isSeconds(r.retryAfter) {
			t.Fatalf("the flood was answered with %d, Retry-After %q (%v), want 429 and seconds", r.code, r.retryAfter, r.err)
		}
	}
	if len(limited) == 0 {
		t.Errorf("void: none of %d reports of one pod in %s was over its share", len(flooded), length)
	}
	s.note(t, "under %.0f reports/s of others; one pod sent %.0f/s, %d of %d refused with 429 and Retry-After; p99 of the others %s before, %s meanwhile, none failed",
		rate, float64(len(flooded))/length.Seconds(), len(limited), len(flooded), p99(before).Round(time.Microsecond), p99(meanwhile).Round(time.Microsecond))
}
