// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"bytes"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/milepost-dev/milepost/controller/internal/servingcert/authority"
)

// rotation is the life of a certificate authority and its successor, hour by hour.
type rotation struct {
	clock            *clocktesting.FakeClock
	keeper           *Keeper
	server           served
	oldOnly, newOnly []byte
	leaves           map[string]bool // by serial number
}

func startRotation(t *testing.T) *rotation {
	t.Helper()
	clock := clocktesting.NewFakeClock(start)
	keeper := newKeeper(t, testConfig(clock), fakeAPI(append(webhookConfigurations(), emptySecret())...))
	if err := keeper.EnsureNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	oldOnly, err := keeper.CABundle()
	if err != nil {
		t.Fatal(err)
	}
	return &rotation{
		clock: clock, keeper: keeper, server: serveTLS(t, keeper.GetCertificate), oldOnly: oldOnly, leaves: map[string]bool{},
	}
}

// hour goes to a point in time and returns what the clients that should be served then trust.
func (r *rotation) hour(t *testing.T, hour int) map[string][]byte {
	t.Helper()
	r.clock.SetTime(start.Add(time.Duration(hour) * time.Hour))
	if err := r.keeper.sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	bundle, err := r.keeper.CABundle()
	if err != nil {
		t.Fatal(err)
	}
	if len(authority.ParseCertificates(bundle)) == 2 && r.newOnly == nil {
		r.newOnly = firstCertificate(bundle)
	}
	r.leaves[r.keeper.serving.Load().leaf().SerialNumber.String()] = true

	clients := map[string][]byte{"that reads the bundle anew": bundle}
	if hour < 100 {
		clients["that has kept the old CA since it began"] = r.oldOnly
	}
	if r.newOnly != nil && hour < 170 {
		clients["that knows the new CA alone"] = r.newOnly
	}
	return clients
}

func TestClientsAreServedThroughARotation(t *testing.T) {
	life := startRotation(t)
	for hour := range 190 {
		for client, trusted := range life.hour(t, hour) {
			for _, skew := range []time.Duration{-10 * time.Minute, 0, 10 * time.Minute} { // clocks are off
				if err := life.server.call(trusted, life.clock.Now().Add(skew)); err != nil {
					t.Errorf("hour %d, client %s, clock %s off: %v", hour, client, skew, err)
				}
			}
		}
	}
	if life.newOnly == nil {
		t.Error("no successor of the CA was seen, so nothing was shown")
	}
	if len(life.leaves) < 8 {
		t.Errorf("%d different leaves were served in 190 hours, want at least 8", len(life.leaves))
	}
}

func TestAClientWithTheWrongAuthorityIsNotServed(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	keeper := newKeeper(t, testConfig(clock), fakeAPI(emptySecret()))
	if err := keeper.EnsureNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	stranger := renewed(t, testPlanner(), nil, start)
	server := serveTLS(t, keeper.GetCertificate)
	if err := server.call(stranger[KeyCACert], start); err == nil {
		t.Error("a client that trusts another CA was served")
	}
}

func TestALostAuthorityKeyDoesNotCutOffClientsThatKnowTheOldAuthority(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	data := renewed(t, testPlanner(), nil, start)
	oldOnly := data[KeyCACert]
	delete(data, KeyCAKey)
	keeper := newKeeper(t, testConfig(clock), fakeAPI(secretWith(data)))
	server := serveTLS(t, keeper.GetCertificate)
	if err := keeper.EnsureNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	bundle, err := keeper.CABundle()
	if err != nil {
		t.Fatal(err)
	}
	if got := len(authority.ParseCertificates(bundle)); got != 2 {
		t.Fatalf("bundle holds %d certificates, want a new authority before the old one", got)
	}
	for client, trusted := range map[string][]byte{"old CA": oldOnly, "bundle": bundle} {
		if err := server.call(trusted, start); err != nil {
			t.Errorf("client with the %s: %v", client, err)
		}
	}
}

// A key that somebody removed while a CA is replaced is made again without the key of the old CA, which
// is gone by then. Clients that have kept the old CA must not notice.
func TestALostKeyDuringAnOverlapCutsOffNobody(t *testing.T) {
	for _, lost := range [][]string{
		{KeyTLSCert},
		{KeyTLSKey},
		{KeyTLSCert, KeyTLSKey},
		{KeyBridge},
		{KeyCAKey},
		{KeyBridge, KeyTLSKey}, // the bridge is still in the chain
	} {
		t.Run("without "+strings.Join(lost, " and "), func(t *testing.T) {
			now := start.Add(71 * time.Hour)
			old := renewed(t, testPlanner(), nil, start)
			data := renewed(t, testPlanner(), old, now)
			for _, key := range lost {
				delete(data, key)
			}
			keeper := newKeeper(t, testConfig(clocktesting.NewFakeClock(now)), fakeAPI(secretWith(data)))
			if err := keeper.EnsureNow(t.Context()); err != nil {
				t.Fatal(err)
			}
			bundle, err := keeper.CABundle()
			if err != nil {
				t.Fatal(err)
			}
			server := serveTLS(t, keeper.GetCertificate)
			for client, trusted := range map[string][]byte{"old CA": old[KeyCACert], "bundle": bundle} {
				if err := server.call(trusted, now); err != nil {
					t.Errorf("client with the %s: %v", client, err)
				}
			}
		})
	}
}

// A Secret of a version that kept bridges in the chain alone, whose chain was cut to its leaf by hand
// after the bridge had been noted.
func TestTheBridgeOfAnEarlierVersionIsNotedAndPutBack(t *testing.T) {
	now := start.Add(71 * time.Hour)
	data := renewed(t, testPlanner(), renewed(t, testPlanner(), nil, start), now)
	delete(data, KeyBridge)
	data = renewed(t, testPlanner(), data, now)
	leaf := data[KeyTLSCert]
	data[KeyTLSCert] = firstCertificate(leaf)
	data = renewed(t, testPlanner(), data, now)
	if !bytes.Equal(data[KeyTLSCert], leaf) {
		t.Error("the chain is not what it was, with its leaf and its bridge")
	}
	data = renewed(t, testPlanner(), data, start.Add(101*time.Hour))
	if len(data[KeyBridge]) > 0 {
		t.Error("a bridge to an expired CA is kept")
	}
}
