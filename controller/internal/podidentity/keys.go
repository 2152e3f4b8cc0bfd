// SPDX-License-Identifier: Apache-2.0

package podidentity

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// errNoKeys says that the keys cannot be had at present, which says nothing
// about the token.
var errNoKeys = errors.New("signing keys cannot be had")

// fetchTimeout bounds one fetch of the keys.
const fetchTimeout = 5 * time.Second

// signingKey is a key with the issuer whose tokens it signs.
type signingKey struct {
	jwk    jose.JSONWebKey
	issuer string
}

// keyring holds the signing keys of the cluster. It fetches them when one is
// missing, but not more often than once per interval, whatever key ids callers
// make up. A fetch that fails costs nothing but itself: the keys known so far
// stay.
type keyring struct {
	api      API
	clock    clock.PassiveClock
	log      logr.Logger
	interval time.Duration
	maxAge   time.Duration

	mu   sync.Mutex
	byID map[string]signingKey
	// fetched is when the keys were last had, tried when that was last tried.
	fetched, tried time.Time
	// failed tells that the last try failed.
	failed bool
	// running is closed when the fetch that is under way ends; nil when none is.
	running chan struct{}
}

func newKeyring(cfg Config, api API) *keyring {
	return &keyring{api: api, clock: cfg.Clock, log: cfg.Logger, interval: cfg.KeyInterval, maxAge: cfg.KeyAge}
}

// find returns the key of an id. The error is errNoKeys when the keys cannot be
// had, else a refusal.
func (k *keyring) find(ctx context.Context, id string) (signingKey, error) {
	if id == "" {
		return signingKey{}, unproven("unknownKey", "the token names no signing key")
	}
	k.mu.Lock()
	key, ok := k.byID[id]
	now := k.clock.Now()
	stale := now.Sub(k.fetched) >= k.maxAge
	var running chan struct{}
	if !ok || stale {
		running = k.start(ctx, now)
	}
	k.mu.Unlock()
	if ok {
		return key, nil // an old key serves while it is looked for anew
	}
	if running != nil {
		select {
		case <-running:
		case <-ctx.Done():
			return signingKey{}, errNoKeys
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if key, ok := k.byID[id]; ok {
		return key, nil
	}
	if k.failed || k.byID == nil {
		return signingKey{}, errNoKeys
	}
	return signingKey{}, unproven("unknownKey", "the token is signed with a key that the cluster does not know")
}

// fetch fetches the keys unless they were just fetched, and waits for them.
func (k *keyring) fetch(ctx context.Context) {
	k.mu.Lock()
	running := k.start(ctx, k.clock.Now())
	k.mu.Unlock()
	if running == nil {
		return
	}
	select {
	case <-running:
	case <-ctx.Done():
	}
}

// start begins a fetch unless one is under way or the last was just now. It
// returns the channel to wait on; nil when there is nothing to wait for.
func (k *keyring) start(ctx context.Context, now time.Time) chan struct{} {
	if k.running != nil {
		return k.running
	}
	if !k.tried.IsZero() && now.Sub(k.tried) < k.interval {
		return nil
	}
	k.tried = now
	done := make(chan struct{})
	k.running = done
	// The fetch serves all callers, so it does not end with the one that began it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	go func() {
		defer cancel()
		keys, err := k.api.Keys(ctx)
		k.finish(keys, err)
		close(done)
	}()
	return done
}

func (k *keyring) finish(keys Keys, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running = nil
	if err != nil {
		if !k.failed {
			k.log.Error(err, "signing keys of the cluster cannot be fetched; tokens are reviewed by the API server until they can")
		}
		k.failed = true
		return
	}
	if k.failed {
		k.log.Info("signing keys of the cluster can be fetched again")
	}
	k.failed = false
	k.fetched = k.clock.Now()
	k.byID = make(map[string]signingKey, len(keys.Set.Keys))
	for _, jwk := range keys.Set.Keys {
		if jwk.KeyID != "" && jwk.Valid() && jwk.IsPublic() && (jwk.Use == "" || jwk.Use == "sig") {
			k.byID[jwk.KeyID] = signingKey{jwk: jwk, issuer: keys.Issuer}
		}
	}
}
