// SPDX-License-Identifier: Apache-2.0

//go:build unix

package faults

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
)

// TestInformersBehind starts a job whose pod the manager's informers do not hear
// of, since their watches are held back by an injecting proxy.
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
	took := eventually(t, storedWithin, "report of a pod that the informers do not know", func() error {
		if code := target.send(t, victim.token); code != http.StatusOK {
			return fmt.Errorf("answer %d", code)
		}
		return nil
	})
	begun, sent := time.Now(), 0
	for length := scale(3*time.Second, 30*time.Second); time.Since(begun) < length; sent++ {
		during(t, 10*time.Millisecond) // below the share of one pod
		if code := target.send(t, victim.token); code != http.StatusOK {
			t.Fatalf("answer %d", code)
		}
	}
	calls := proxy.count(lookUps) - before
	// One for each of pod, Job and JobSet, and then one for the pod in three
	// seconds. Until the TrainJob was known there may have been one more of each.
	if most := 6 + int(time.Since(begun).Seconds()/3) + 1; calls == 0 || calls > most {
		t.Errorf("%d look-ups for %d reports, want some and %d at most", calls, sent, most)
	}
	release()
	f.stop()
	if lost := failed(others(f.since(0))); len(lost) > 0 {
		t.Errorf("reports of others failed: %s", describe(lost))
	}
	s.note(t, "under %.0f reports/s; first report of an unknown pod taken after %s, %d more while the informers were behind, with %d look-ups in all",
		rate, took.Round(time.Millisecond), sent, calls)
}
