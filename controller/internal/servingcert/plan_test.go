// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"bytes"
	"crypto/tls"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/milepost-dev/milepost/controller/internal/servingcert/authority"
)

func testPlanner() planner {
	return planner{dnsNames: testConfig(nil).dnsNames(), lifetimes: short}
}

// renewed applies what the planner wants to a copy of the data.
func renewed(t rapid.TB, p planner, data map[string][]byte, now time.Time) map[string][]byte {
	t.Helper()
	due, err := p.renew(data, now)
	if err != nil {
		t.Fatal(err)
	}
	next := map[string][]byte{}
	maps.Copy(next, data)
	maps.Copy(next, due.keys)
	return next
}

func TestRenewWritesOnlyWhatIsDue(t *testing.T) {
	fresh := renewed(t, testPlanner(), nil, start)
	other := renewed(t, testPlanner(), nil, start)
	without := func(keys ...string) map[string][]byte {
		data := maps.Clone(fresh)
		for _, key := range keys {
			delete(data, key)
		}
		return data
	}
	with := func(key string, value []byte) map[string][]byte {
		data := maps.Clone(fresh)
		data[key] = value
		return data
	}
	all := []string{KeyCACert, KeyCAKey, KeyTLSCert, KeyTLSKey}
	authorityKeys := []string{KeyCACert, KeyCAKey}
	leafKeys := []string{KeyTLSCert, KeyTLSKey}

	for situation, tc := range map[string]struct {
		data map[string][]byte
		now  time.Time
		want []string
	}{
		"an absent Secret gets all keys":                           {data: nil, now: start, want: all},
		"empty keys are filled":                                    {data: map[string][]byte{KeyCACert: {}, KeyCAKey: {}, KeyTLSCert: {}, KeyTLSKey: {}}, now: start, want: all},
		"words in place of certificates are replaced":              {data: map[string][]byte{KeyCACert: []byte("x"), KeyCAKey: []byte("x"), KeyTLSCert: []byte("x"), KeyTLSKey: []byte("x")}, now: start, want: all},
		"a fresh Secret is left alone":                             {data: fresh, now: start},
		"a leaf one minute before its renewal is left alone":       {data: fresh, now: start.Add(15*time.Hour - time.Minute)},
		"a leaf at its renewal is replaced":                        {data: fresh, now: start.Add(15 * time.Hour), want: leafKeys},
		"a leaf with ten seconds to live is replaced":              {data: fresh, now: start.Add(20*time.Hour - 10*time.Second), want: leafKeys},
		"an expired leaf is replaced":                              {data: fresh, now: start.Add(21 * time.Hour), want: leafKeys},
		"a CA at its renewal gets a successor and a leaf of that":  {data: fresh, now: start.Add(70 * time.Hour), want: slices.Concat([]string{KeyBridge}, all)},
		"after an outage longer than the CA all starts again":      {data: fresh, now: start.Add(200 * time.Hour), want: all},
		"a lost CA key costs a new CA, and the leaf stays":         {data: without(KeyCAKey), now: start, want: authorityKeys},
		"a CA key of another CA costs a new CA, the leaf stays":    {data: with(KeyCAKey, other[KeyCAKey]), now: start, want: authorityKeys},
		"a lost CA certificate makes the leaf worthless":           {data: without(KeyCACert), now: start, want: all},
		"a lost server key costs the leaf alone":                   {data: without(KeyTLSKey), now: start, want: leafKeys},
		"a leaf of a CA outside the bundle is replaced":            {data: maps.Collect(merged(fresh, other, KeyTLSCert, KeyTLSKey)), now: start, want: leafKeys},
		"a certificate whose start lies ahead of us is left alone": {data: fresh, now: start.Add(-3 * time.Hour)},
	} {
		t.Run(situation, func(t *testing.T) {
			due, err := testPlanner().renew(tc.data, tc.now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, slices.Sorted(maps.Keys(due.keys))); diff != "" {
				t.Errorf("keys to write (-want +got):\n%s", diff)
			}
			if gotReason := len(due.reasons) > 0; gotReason != (len(tc.want) > 0) {
				t.Errorf("reasons are %q for the keys %q", due.reasons, tc.want)
			}
		})
	}
}

// merged yields base with some keys taken from another Secret.
func merged(base, from map[string][]byte, keys ...string) func(func(string, []byte) bool) {
	data := maps.Clone(base)
	for _, key := range keys {
		data[key] = from[key]
	}
	return maps.All(data)
}

func TestAChangedServiceNameCostsTheLeafAlone(t *testing.T) {
	data := renewed(t, testPlanner(), nil, start)
	moved := planner{dnsNames: []string{"other.kubeflow-system.svc"}, lifetimes: short}
	due, err := moved.renew(data, start)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{KeyTLSCert, KeyTLSKey}, slices.Sorted(maps.Keys(due.keys))); diff != "" {
		t.Errorf("keys to write (-want +got):\n%s", diff)
	}
}

func TestTheBundleHoldsTheOldAuthorityUntilItExpires(t *testing.T) {
	p := testPlanner()
	data := renewed(t, p, nil, start)
	old := data[KeyCACert]

	data = renewed(t, p, data, start.Add(70*time.Hour))
	bundle := authority.ParseCertificates(data[KeyCACert])
	if len(bundle) != 2 || !bytes.Equal(authority.EncodeCertificates(bundle[1]), old) {
		t.Fatalf("bundle holds %d certificates after the renewal, want the new one and then the old one", len(bundle))
	}
	newest := authority.EncodeCertificates(bundle[0])
	if got := len(authority.ParseCertificates(data[KeyTLSCert])); got != 2 {
		t.Errorf("chain holds %d certificates during the overlap, want leaf and bridge", got)
	}

	data = renewed(t, p, data, start.Add(86*time.Hour)) // leaf renewal within the overlap
	if got := len(authority.ParseCertificates(data[KeyTLSCert])); got != 2 {
		t.Errorf("chain of a leaf renewed during the overlap holds %d certificates, want leaf and bridge", got)
	}

	data = renewed(t, p, data, start.Add(100*time.Hour+time.Second))
	if !bytes.Equal(data[KeyCACert], newest) {
		t.Error("bundle is not the new authority alone after the old one expired")
	}
	if got := len(authority.ParseCertificates(data[KeyTLSCert])); got != 1 {
		t.Errorf("chain holds %d certificates after the old authority expired, want the leaf alone", got)
	}
}

// Any jump in time and any loss of keys must leave a Secret with which nothing is due any more, else
// every watch event would cause a write and with it the next event.
func TestRenewSettlesAtOnceWhateverItFinds(t *testing.T) {
	p := testPlanner()
	rapid.Check(t, func(t *rapid.T) {
		now := start
		data := map[string][]byte{}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(-30, 130*60).Draw(t, "minutes")) * time.Minute)
			for _, lost := range rapid.SliceOfN(rapid.SampledFrom([]string{KeyBridge, KeyCACert, KeyCAKey, KeyTLSCert, KeyTLSKey, ""}), 0, 2).Draw(t, "lost") {
				delete(data, lost)
			}
			data = renewed(t, p, data, now)
			if again, err := p.renew(data, now); err != nil || len(again.keys) > 0 {
				t.Fatalf("a second look still wants %v (%v), error %v", slices.Sorted(maps.Keys(again.keys)), again.reasons, err)
			}
			if _, err := tls.X509KeyPair(data[KeyTLSCert], data[KeyTLSKey]); err != nil {
				t.Fatal(err)
			}
		}
	})
}
