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

// keyPatience is how long tokens of a new key may be refused: the keys are
// fetched at most once in ten seconds.
const keyPatience = 10 * time.Second

// TestSigningKeysRotate gives the API server another key for tokens while pods
// report with tokens of the one before.
func TestSigningKeysRotate(t *testing.T) {
	s := require(t)
	proxy := newInjector(t, s.plane.Config)
	m := s.manager(t, proxy.config, livemanager.Options{})
	f := launch(t, plan{jobs: s.jobs, client: newClients(t, m), address: m.Address()})
	rate := f.flow(t)
	victim := s.victim(t, "rotated-keys")
	target := forgeTarget{client: newClients(t, m)(), url: m.URL(namespace, victim.name)}
	target.awaitKnown(t, victim)
	old := newForger(t, s, victim, "")
	before, begun := proxy.count(keyFetches), time.Now()
	if err := s.plane.RotateKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := newForger(t, s, victim, "")
	if after.kid == old.kid {
		t.Fatal("void: the key is the same")
	}
	took := eventually(t, keyPatience+slack(), "token of the new key taken", func() error {
		if code := target.send(t, after.sign(after.good)); code != http.StatusOK {
			return fmt.Errorf("answer %d", code)
		}
		return nil
	})
	// Tokens that nobody has seen yet, of both keys.
	for number := range 20 {
		for key, forge := range map[string]*forger{"old": old, "new": after} {
			if code := target.send(t, forge.sign(forge.good.With("jti", fmt.Sprint(number)))); code != http.StatusOK {
				t.Errorf("token %d of the %s key is answered %d", number, key, code)
			}
		}
	}
	fetches, forged, length := target.floodKeys(t, proxy, after)
	if most := 1 + int(length.Seconds())/10; fetches > most {
		t.Errorf("%d key fetches in %s of forged key ids, want %d at most", fetches, length, most)
	}
	all, passed := proxy.count(keyFetches)-before, time.Since(begun)
	if most := 1 + int(passed/keyPatience); all == 0 || all > most {
		t.Errorf("%d key fetches in %s, want some and %d at most", all, passed.Round(time.Second), most)
	}
	f.stop()
	if lost := failed(others(f.since(0))); len(lost) > 0 {
		t.Errorf("reports failed: %s", describe(lost))
	}
	s.wantStored(t, patience, ackedReports(s.jobs))
	s.note(t, "under %.0f reports/s; token of the new key taken %s after the API server was back, tokens of the old key all the time; %d key fetches in %s, %d forged key ids among it; none of %d intermediate reports failed",
		rate, took.Round(time.Millisecond), all, passed.Round(time.Second), forged, len(others(f.since(0))))
}

// TestKeyEndpointAway takes the signing keys away, and the one that signs with
// them: what is known goes on, and for the rest the API server is asked.
func TestKeyEndpointAway(t *testing.T) {
	s := require(t)
	proxy := newInjector(t, s.plane.Config)
	m := s.manager(t, proxy.config, livemanager.Options{})
	f := launch(t, plan{jobs: s.jobs, client: newClients(t, m), address: m.Address()})
	rate := f.flow(t)
	victim := s.victim(t, "no-keys")
	target := forgeTarget{client: newClients(t, m)(), url: m.URL(namespace, victim.name)}
	target.awaitKnown(t, victim)
	forge := newForger(t, s, victim, "")
	proxy.answerWith(func(r *http.Request) (int, string) {
		if r.URL.Path == keysPath || r.URL.Path == discoveryPath {
			return http.StatusInternalServerError, ""
		}
		return 0, ""
	})
	if err := s.plane.RotateKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
	late := s.victim(t, "no-keys-late")
	lateTarget := forgeTarget{client: target.client, url: m.URL(namespace, late.name)}
	took := eventually(t, keyPatience+slack(), "token of a key that cannot be had taken", func() error {
		if code := lateTarget.send(t, late.token); code != http.StatusOK {
			return fmt.Errorf("answer %d", code)
		}
		return nil
	})
	length, count := scale(5*time.Second, time.Minute), 0
	for begun := time.Now(); time.Since(begun) < length; count++ {
		during(t, 100*time.Millisecond)
		// One that was not seen before, of a key that is known.
		if code := target.send(t, forge.sign(forge.good.With("jti", fmt.Sprint(count)))); code != http.StatusOK {
			t.Fatalf("token %d of a known key is answered %d", count, code)
		}
		if code := lateTarget.send(t, late.token); code != http.StatusOK {
			t.Fatalf("token %d of an unknown key is answered %d", count, code)
		}
	}
	if err := m.Probe(t.Context(), "readyz"); err != nil {
		t.Errorf("the manager is not ready: %v", err)
	}
	proxy.answerWith(nil)
	f.stop()
	if lost := failed(others(f.since(0))); len(lost) > 0 {
		t.Errorf("reports failed: %s", describe(lost))
	}
	s.note(t, "under %.0f reports/s; keys away for %s; %d new tokens of the known key taken; token of a key that came meanwhile taken after %s; manager ready; none of %d intermediate reports failed",
		rate, length, count, took.Round(time.Millisecond), len(others(f.since(0))))
}
