// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// started runs a Keeper until the test ends and checks that it returns then.
func started(t *testing.T, keeper *Keeper) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- keeper.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Start returned %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Error("Start did not return after its context ended")
		}
	})
}

func eventually(t *testing.T, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 10*time.Second, true, condition); err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

// servedBundle waits until there is a bundle other than the present one.
func servedBundle(t *testing.T, keeper *Keeper, present []byte) []byte {
	t.Helper()
	var bundle []byte
	eventually(t, "there is another bundle", func(context.Context) (bool, error) {
		var err error
		bundle, err = keeper.CABundle()
		return err == nil && !bytes.Equal(bundle, present), nil
	})
	return bundle
}

// announceWatches tells of every watch that has begun: events before that are not sent again by the
// fake API server, unlike by the real one.
func announceWatches(begun chan<- struct{}) interceptor.Funcs {
	return interceptor.Funcs{
		Watch: func(ctx context.Context, api client.WithWatch, list client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
			events, err := api.Watch(ctx, list, options...)
			begun <- struct{}{}
			return events, err
		},
	}
}

func TestStartServesWhatAnotherReplicaStored(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	begun := make(chan struct{}, 10)
	api := fakeAPI(append(webhookConfigurations(), emptySecret())...)
	keeper := newKeeper(t, testConfig(clock), interceptor.NewClient(api, announceWatches(begun)))
	started(t, keeper)
	for range keeper.watchTargets() {
		<-begun
	}
	first := servedBundle(t, keeper, nil)

	const untilRenewal = 70 * time.Hour
	successor := renewed(t, testPlanner(), storedData(t, api), start.Add(untilRenewal))
	if err := api.Update(t.Context(), secretWith(successor)); err != nil {
		t.Fatal(err)
	}
	second := servedBundle(t, keeper, first)
	if diff := cmp.Diff(successor[KeyCACert], second); diff != "" {
		t.Errorf("bundle in memory (-stored by another replica +served):\n%s", diff)
	}
	if err := serveTLS(t, keeper.GetCertificate).call(first, start.Add(untilRenewal)); err != nil {
		t.Errorf("client with the first bundle: %v", err)
	}
	eventually(t, "every webhook has the new bundle", func(ctx context.Context) (bool, error) {
		bundles, err := storedBundles(ctx, api)
		return allEqual(bundles, second), err
	})
}

func TestStartGivesTheCAToWebhookConfigurationsThatComeLater(t *testing.T) {
	begun := make(chan struct{}, 10)
	api := fakeAPI(emptySecret())
	keeper := newKeeper(t, testConfig(clocktesting.NewFakeClock(start)), interceptor.NewClient(api, announceWatches(begun)))
	started(t, keeper)
	for range keeper.watchTargets() {
		<-begun
	}
	bundle := servedBundle(t, keeper, nil)
	for _, configuration := range webhookConfigurations() {
		if err := api.Create(t.Context(), configuration); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "every webhook has the bundle", func(ctx context.Context) (bool, error) {
		bundles, err := storedBundles(ctx, api)
		return allEqual(bundles, bundle), err
	})
}

func TestStartRenewsInTimeAndLeavesAFreshSecretAlone(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	api := fakeAPI(append(webhookConfigurations(), emptySecret())...)
	keeper := newKeeper(t, testConfig(clock), api)
	started(t, keeper)
	eventually(t, "the manager is ready", func(context.Context) (bool, error) { return keeper.Ready(nil) == nil, nil })
	first := storedData(t, api)

	clock.Step(14 * time.Hour)
	if diff := cmp.Diff(first, storedData(t, api)); diff != "" {
		t.Errorf("a fresh Secret was written (-before +after):\n%s", diff)
	}
	eventually(t, "the leaf is renewed", func(context.Context) (bool, error) {
		clock.Step(10 * time.Minute)
		return !bytes.Equal(storedData(t, api)[KeyTLSCert], first[KeyTLSCert]), nil
	})
	if now := clock.Now(); now.Before(start.Add(15 * time.Hour)) {
		t.Errorf("renewed at %s, before it was due", now)
	}
}
