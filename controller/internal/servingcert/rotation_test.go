// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/milepost-dev/milepost/controller/internal/servingcert/authority"
)

// The life of a certificate authority and its successor, hour by hour, seen by real TLS clients.
func TestClientsAreServedThroughARotation(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	api := fakeAPI(append(webhookConfigurations(), emptySecret())...)
	keeper := newKeeper(t, testConfig(clock), api)
	server := serveTLS(t, keeper.GetCertificate)
	if err := keeper.EnsureNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	oldOnly, err := keeper.CABundle()
	if err != nil {
		t.Fatal(err)
	}
	var newOnly []byte
	var serials = map[string]bool{}
	for hour := range 190 {
		now := start.Add(time.Duration(hour) * time.Hour)
		clock.SetTime(now)
		if err := keeper.sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		bundle, err := keeper.CABundle()
		if err != nil {
			t.Fatal(err)
		}
		if certificates := authority.ParseCertificates(bundle); len(certificates) == 2 && newOnly == nil {
			newOnly = firstCertificate(bundle)
		}
		serials[keeper.serving.Load().leaf().SerialNumber.String()] = true

		for client, trusted := range map[string]struct {
			bundle []byte
			alive  bool
		}{
			"that reads the bundle anew":               {bundle: bundle, alive: true},
			"that has kept the old CA since it began":  {bundle: oldOnly, alive: hour < 100},
			"that knows the new CA alone":              {bundle: newOnly, alive: newOnly != nil && hour < 170},
			"that reads the bundle, clock ten min off": {bundle: bundle, alive: true},
		} {
			if !trusted.alive {
				continue
			}
			for _, skew := range []time.Duration{-10 * time.Minute, 0} {
				if err := server.call(trusted.bundle, now.Add(skew)); err != nil {
					t.Errorf("hour %d, client %s, clock %s off: %v", hour, client, skew, err)
				}
			}
		}
	}
	if newOnly == nil {
		t.Error("no successor of the CA was seen, so nothing was shown")
	}
	if len(serials) < 8 {
		t.Errorf("%d different leaves were served in 190 hours, want at least 8", len(serials))
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
