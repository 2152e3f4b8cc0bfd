// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestEnsureNowIssuesACertificateForTheService(t *testing.T) {
	for situation, objects := range map[string][]client.Object{
		"into the empty Secret of the chart":         {emptySecret()},
		"into a new Secret where there is none":      nil,
		"into a Secret with empty keys":              {secretWith(map[string][]byte{KeyCACert: {}, KeyTLSCert: {}, KeyTLSKey: {}})},
		"into a Secret that somebody wrote words in": {secretWith(map[string][]byte{KeyCACert: []byte("-----BEGIN"), KeyTLSCert: []byte("a"), KeyTLSKey: []byte("b")})},
	} {
		t.Run(situation, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(start)
			api := fakeAPI(objects...)
			keeper := newKeeper(t, testConfig(clock), api)
			if err := keeper.EnsureNow(t.Context()); err != nil {
				t.Fatal(err)
			}
			names := keeper.serving.Load().leaf().DNSNames
			if diff := cmp.Diff([]string{host, host + ".cluster.local"}, names); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			if err := serveTLS(t, keeper.GetCertificate).call(storedData(t, api)[KeyCACert], start); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOtherKeysAndLabelsOfTheSecretAreKept(t *testing.T) {
	secret := secretWith(map[string][]byte{"note": []byte("mine")})
	secret.Labels = map[string]string{"app.kubernetes.io/managed-by": "Helm"}
	api := fakeAPI(secret)
	if err := newKeeper(t, testConfig(clocktesting.NewFakeClock(start)), api).EnsureNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	stored := &corev1.Secret{}
	if err := api.Get(t.Context(), secretKey, stored); err != nil {
		t.Fatal(err)
	}
	if string(stored.Data["note"]) != "mine" || stored.Labels["app.kubernetes.io/managed-by"] != "Helm" {
		t.Errorf("stored labels %v and keys %v lack what was there before", stored.Labels, stored.Data)
	}
}

func TestAForeignSecretIsServedAndNeverWritten(t *testing.T) {
	foreign := renewed(t, testPlanner(), nil, start)
	delete(foreign, KeyCAKey)
	configurations := webhookConfigurations()
	api := interceptor.NewClient(fakeAPI(append(configurations, secretWith(foreign))...), refuseWrites())
	clock := clocktesting.NewFakeClock(start.Add(19 * time.Hour)) // renewal would be due if it were ours
	config := testConfig(clock)
	config.Manage = false
	keeper := newKeeper(t, config, api)
	if err := keeper.EnsureNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := keeper.sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(foreign, storedData(t, api)); diff != "" {
		t.Errorf("stored Secret (-want +got):\n%s", diff)
	}
	if err := serveTLS(t, keeper.GetCertificate).call(foreign[KeyCACert], clock.Now()); err != nil {
		t.Error(err)
	}
	if err := keeper.Ready(nil); err != nil {
		t.Errorf("not ready: %v", err)
	}
}

func refuseWrites() interceptor.Funcs {
	refused := errors.New("a write was tried")
	return interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return refused },
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error { return refused },
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return refused
		},
	}
}

func TestAForeignSecretThatCannotBeServedIsAnError(t *testing.T) {
	good := renewed(t, testPlanner(), nil, start)
	for situation, tc := range map[string]struct {
		objects []client.Object
		want    string
	}{
		"the Secret is absent":       {want: "certificate management is off"},
		"the Secret is empty":        {objects: []client.Object{emptySecret()}, want: "tls.crt"},
		"key and certificate differ": {objects: []client.Object{secretWith(map[string][]byte{KeyTLSCert: good[KeyTLSCert], KeyTLSKey: good[KeyCAKey]})}, want: "tls.key"},
	} {
		t.Run(situation, func(t *testing.T) {
			config := testConfig(clocktesting.NewFakeClock(start))
			config.Manage = false
			err := newKeeper(t, config, fakeAPI(tc.objects...)).EnsureNow(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), secretKey.Name) {
				t.Errorf("error %v must name the Secret and mention %q", err, tc.want)
			}
		})
	}
}

func TestABrokenForeignSecretDoesNotReplaceAGoodCertificateInMemory(t *testing.T) {
	foreign := renewed(t, testPlanner(), nil, start)
	api := fakeAPI(secretWith(foreign))
	config := testConfig(clocktesting.NewFakeClock(start))
	config.Manage = false
	keeper := newKeeper(t, config, api)
	if err := keeper.EnsureNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := api.Update(t.Context(), secretWith(map[string][]byte{KeyTLSCert: []byte("half a write")})); err != nil {
		t.Fatal(err)
	}
	if err := keeper.sync(t.Context()); err == nil {
		t.Error("the broken Secret was not reported")
	}
	if err := serveTLS(t, keeper.GetCertificate).call(foreign[KeyCACert], start); err != nil {
		t.Error(err)
	}
}

func TestKeepersRacingOnAFakeAPIServerSettleOnOneContent(t *testing.T) {
	for situation, tc := range map[string]struct {
		objects []client.Object
		now     time.Time
	}{
		"over the first issue in an empty Secret": {objects: []client.Object{emptySecret()}, now: start},
		"over the creation of the Secret":         {now: start},
		"over a new CA":                           {objects: []client.Object{secretWith(renewed(t, testPlanner(), nil, start))}, now: start.Add(80 * time.Hour)},
	} {
		t.Run(situation, func(t *testing.T) {
			const replicas = 6
			api := fakeAPI(tc.objects...)
			barrier := readTogether(replicas)
			keepers := make([]*Keeper, replicas)
			var running sync.WaitGroup
			for i := range keepers {
				skew := time.Duration(i*4-10) * time.Minute // clocks up to ten minutes off
				keepers[i] = newKeeper(t, testConfig(clocktesting.NewFakeClock(tc.now.Add(skew))), interceptor.NewClient(api, barrier))
				running.Go(func() {
					if err := keepers[i].EnsureNow(t.Context()); err != nil {
						t.Errorf("replica %d: %v", i, err)
					}
				})
			}
			running.Wait()
			stored := storedData(t, api)
			for i, keeper := range keepers {
				if err := keeper.EnsureNow(t.Context()); err != nil {
					t.Errorf("replica %d: %v", i, err)
				}
				if bundle, err := keeper.CABundle(); err != nil || !bytes.Equal(bundle, stored[KeyCACert]) {
					t.Errorf("replica %d serves another CA than the stored one (error %v)", i, err)
				}
			}
			if diff := cmp.Diff(stored, storedData(t, api)); diff != "" {
				t.Errorf("content changed after all had settled (-settled +later):\n%s", diff)
			}
		})
	}
}

// readTogether holds the first read of the Secret until so many readers have come, which makes sure
// that all of them decide on the same old content.
func readTogether(readers int) interceptor.Funcs {
	var arrived sync.WaitGroup
	arrived.Add(readers)
	var mu sync.Mutex
	left := readers
	return interceptor.Funcs{
		Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			err := api.Get(ctx, key, object, options...)
			mu.Lock()
			first := left > 0
			left--
			mu.Unlock()
			if first {
				arrived.Done()
				arrived.Wait()
			}
			return err
		},
	}
}

func TestInjectedConflictsAreTriedAgain(t *testing.T) {
	failures := 3
	api := interceptor.NewClient(fakeAPI(append(webhookConfigurations(), emptySecret())...), interceptor.Funcs{
		Patch: func(ctx context.Context, api client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if failures > 0 {
				failures--
				return apierrors.NewConflict(schema.GroupResource{}, object.GetName(), errors.New("injected"))
			}
			return api.Patch(ctx, object, patch, options...)
		},
	})
	keeper := newKeeper(t, testConfig(clocktesting.NewFakeClock(start)), api)
	if err := keeper.sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if failures != 0 {
		t.Errorf("%d injected conflicts were not met", failures)
	}
}

func TestReadyTellsWhatIsMissing(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	denied := true
	api := interceptor.NewClient(fakeAPI(append(webhookConfigurations(), emptySecret())...), interceptor.Funcs{
		Patch: func(ctx context.Context, api client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if _, isWebhook := object.(*admissionregistrationv1.MutatingWebhookConfiguration); isWebhook && denied {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "mutatingwebhookconfigurations"}, object.GetName(), errors.New("injected"))
			}
			return api.Patch(ctx, object, patch, options...)
		},
	})
	keeper := newKeeper(t, testConfig(clock), api)

	wantNotReady(t, keeper, "no serving certificate")
	if _, err := keeper.GetCertificate(nil); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("GetCertificate before the first load: %v, want ErrNotLoaded", err)
	}
	if err := keeper.sync(t.Context()); err == nil {
		t.Error("a refused write of the webhook configuration was not reported")
	}
	wantNotReady(t, keeper, defaulter)
	denied = false
	if err := keeper.sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := keeper.Ready(nil); err != nil {
		t.Errorf("not ready: %v", err)
	}
	clock.Step(21 * time.Hour)
	wantNotReady(t, keeper, "expired")
}

func wantNotReady(t *testing.T, keeper *Keeper, want string) {
	t.Helper()
	if err := keeper.Ready(nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("readiness says %v, want an error with %q", err, want)
	}
}

func TestAMissingWebhookConfigurationDoesNotKeepTheManagerFromBeingReady(t *testing.T) {
	keeper := newKeeper(t, testConfig(clocktesting.NewFakeClock(start)), fakeAPI(emptySecret()))
	if err := keeper.sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := keeper.Ready(nil); err != nil {
		t.Errorf("not ready: %v", err)
	}
}

func TestConfigValidate(t *testing.T) {
	for problem, change := range map[string]func(*Config){
		"the Secret needs a name":     func(c *Config) { c.Secret.Name = "" },
		"the Service needs a name":    func(c *Config) { c.Service = "" },
		"cannot be renewed":           func(c *Config) { c.Lifetimes.LeafRenewBefore = c.Lifetimes.Leaf },
		"can outlive a CA":            func(c *Config) { c.Lifetimes.Leaf = c.Lifetimes.CARenewBefore + 1 },
		"meets its next but one":      func(c *Config) { c.Lifetimes.CARenewBefore = c.Lifetimes.CA },
		"backdating of -1ns":          func(c *Config) { c.Lifetimes.Backdate = -1 },
		"resync period -1ns is negat": func(c *Config) { c.ResyncPeriod = -1 },
	} {
		t.Run(problem, func(t *testing.T) {
			config := testConfig(clocktesting.NewFakeClock(start))
			change(&config)
			if _, err := New(config, nil); err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("error is %v, want one with %q", err, problem)
			}
		})
	}
	if _, err := New(Config{Secret: secretKey, Service: "s"}, nil); err != nil {
		t.Errorf("the defaults break their own rules: %v", err)
	}
}
