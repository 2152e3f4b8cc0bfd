// SPDX-License-Identifier: Apache-2.0

//go:build unix

package faults

import (
	"net/http"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
)

// TestInformersBehind starts a job of which the manager's informers hear nothing,
// neither the TrainJob nor its pod, since their watches are held back by an
// injecting proxy.
func TestInformersBehind(t *testing.T) {
	s := require(t)
	proxy := newInjector(t, s.plane.Config)
	m := s.manager(t, proxy.config, livemanager.Options{})
	f := launch(t, plan{jobs: s.jobs, client: newClients(t, m), address: m.Address()})
	rate := f.flow(t)
	release := proxy.delayWatches()
	defer release()
	before := proxy.count(lookUps)
	victim := s.victim(t, "behind")
	target := forgeTarget{client: newClients(t, m)(), url: m.URL(namespace, victim.name)}
	first := time.Now()
	if code := target.send(t, victim.token); code != http.StatusOK {
		t.Fatalf("the first report of a pod that the informers do not know is answered %d", code)
	}
	took := time.Since(first)
	begun, sent := time.Now(), 0
	for length := scale(3*time.Second, 30*time.Second); time.Since(begun) < length; sent++ {
		during(t, 10*time.Millisecond) // below the share of one pod
		if code := target.send(t, victim.token); code != http.StatusOK {
			t.Fatalf("answer %d", code)
		}
	}
	calls := proxy.count(lookUps) - before
	// One for each of pod, Job and JobSet, and then one for the pod in three
	// seconds.
	if most := 3 + int(time.Since(begun).Seconds()/3) + 1; calls == 0 || calls > most {
		t.Errorf("%d look-ups for %d reports, want some and %d at most", calls, sent, most)
	}
	if status, err := s.kit.Status(t.Context(), victim.name); err != nil || status == nil {
		t.Errorf("stored is %v (%v) while the informers are behind, want a report", status, err)
	}
	release()
	f.stop()
	if lost := failed(others(f.since(0))); len(lost) > 0 {
		t.Errorf("reports of others failed: %s", describe(lost))
	}
	s.note(t, "under %.0f reports/s; first report of an unknown pod taken after %s, %d more while the informers were behind, with %d look-ups in all",
		rate, took.Round(time.Millisecond), sent, calls)
}
