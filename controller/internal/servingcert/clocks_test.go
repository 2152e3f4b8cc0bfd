// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"maps"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// TestCertificatesOfAReplicaWhoseFakeClockIsWrong has one replica make the
// certificates by a clock that is ten minutes off, while clients and other
// replicas go by the right time or are off themselves.
func TestCertificatesOfAReplicaWhoseFakeClockIsWrong(t *testing.T) {
	const off = 10 * time.Minute
	for name, wrong := range map[string]time.Duration{"ahead": off, "behind": -off} {
		t.Run(name, func(t *testing.T) {
			api := fakeAPI(append(webhookConfigurations(), emptySecret())...)
			maker := newKeeper(t, testConfig(clocktesting.NewFakeClock(start.Add(wrong))), api)
			if err := maker.EnsureNow(t.Context()); err != nil {
				t.Fatal(err)
			}
			made := storedData(t, api)
			server := serveTLS(t, maker.GetCertificate)
			for _, clientOff := range []time.Duration{-off, 0, off} {
				if err := server.call(made[KeyCACert], start.Add(clientOff)); err != nil {
					t.Errorf("a client whose clock is off by %s: %v", clientOff, err)
				}
			}
			for _, otherOff := range []time.Duration{-off, 0, off} {
				due, err := testPlanner().renew(made, start.Add(otherOff))
				if err != nil {
					t.Fatal(err)
				}
				if len(due.keys) > 0 {
					t.Errorf("a replica whose clock is off by %s writes %v: %v", otherOff, due.keys, due.reasons)
				}
			}
		})
	}
}

// TestALeafOfAFakeClockFarAheadIsReplaced: clients would have to wait until it
// begins.
func TestALeafOfAFakeClockFarAheadIsReplaced(t *testing.T) {
	const ahead = 3 * time.Hour
	data := renewed(t, testPlanner(), nil, start)
	delete(data, KeyTLSKey)
	data = renewed(t, testPlanner(), data, start.Add(ahead)) // the same CA, another leaf
	due, err := testPlanner().renew(data, start)
	if err != nil {
		t.Fatal(err)
	}
	if len(due.keys) != 2 || due.keys[KeyTLSCert] == nil || due.keys[KeyTLSKey] == nil {
		t.Fatalf("written are %v (%v), want the leaf alone", due.keys, due.reasons)
	}
	maps.Copy(data, due.keys)
	for _, off := range []time.Duration{0, ahead} {
		if again, err := testPlanner().renew(data, start.Add(off)); err != nil || len(again.keys) > 0 {
			t.Errorf("a replica whose clock is off by %s writes again: %v (%v)", off, again.reasons, err)
		}
	}
}
