// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/milepost-dev/milepost/controller/internal/logkeys"
)

// FieldOwner is the field manager of everything this package writes.
const FieldOwner = "trainer-certificates"

const (
	// retryPeriod is the pause after a failed look at the Secret.
	retryPeriod = 5 * time.Second
	// watchPause is the pause before a watch that ended is begun again.
	watchPause = time.Second
	// syncTimeout bounds one look: an API server that hangs must not end the looking for good.
	syncTimeout = 30 * time.Second
)

var (
	_ manager.Runnable               = (*Keeper)(nil)
	_ manager.LeaderElectionRunnable = (*Keeper)(nil)
	_ healthz.Checker                = (*Keeper)(nil).Ready
)

// Keeper keeps one serving certificate. It is safe for concurrent use.
type Keeper struct {
	config  Config
	planner planner
	client  client.WithWatch

	serving  atomic.Pointer[serving]
	injected atomic.Bool

	mu        sync.Mutex
	lastError error
}

// New returns a Keeper that reads and writes through the client. The client must not answer from a
// cache: the Keeper is used before caches start, and decides on what is stored now.
func New(config Config, direct client.WithWatch) (*Keeper, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("checking the certificate configuration: %w", err)
	}
	config = config.withDefaults()
	return &Keeper{
		config:  config,
		planner: planner{dnsNames: config.dnsNames(), lifetimes: config.Lifetimes},
		client:  direct,
	}, nil
}

// EnsureNow loads the certificate, and issues it first where it is managed and due. Call it once
// before anything is served; it returns when there is a certificate to serve. A webhook configuration
// that cannot be written is no error here: Start tries again, and Ready tells.
func (k *Keeper) EnsureNow(ctx context.Context) error {
	return k.syncSecret(ctx)
}

// +kubebuilder:rbac:groups="",namespace=system,resources=secrets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations;mutatingwebhookconfigurations,verbs=get;list;watch;patch

// Start keeps the certificate until the context ends. It never returns an error: what fails is
// logged and tried again while the last good certificate is served.
func (k *Keeper) Start(ctx context.Context) error {
	wake := make(chan struct{}, 1)
	var watches sync.WaitGroup
	for _, target := range k.watchTargets() {
		watches.Go(func() { k.watch(ctx, target, wake) })
	}
	defer watches.Wait()

	ticker := k.config.Clock.NewTicker(k.config.ResyncPeriod)
	defer ticker.Stop()
	for {
		var retry <-chan time.Time
		if err := k.sync(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "keeping the serving certificate; trying again", logkeys.Secret, k.secretRef())
			retry = k.config.Clock.After(retryPeriod)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
		case <-ticker.C():
		case <-retry:
		}
	}
}

// NeedLeaderElection is false: every replica serves, so every replica needs the certificate.
func (k *Keeper) NeedLeaderElection() bool { return false }

// Ready is a health check: it fails while there is no valid certificate to serve, or while the
// webhook configurations have never been given the CA.
func (k *Keeper) Ready(*http.Request) error {
	current := k.serving.Load()
	if current == nil {
		return errors.Join(errors.New("no serving certificate loaded"), k.lastFailure())
	}
	if now := k.config.Clock.Now(); now.After(current.leaf().NotAfter) {
		return errors.Join(fmt.Errorf("serving certificate expired at %s", current.leaf().NotAfter), k.lastFailure())
	}
	if k.config.Manage && !k.injected.Load() {
		return errors.Join(errors.New("webhook configurations have no CA yet"), k.lastFailure())
	}
	return nil
}

// sync brings Secret, memory and webhook configurations in line, once.
func (k *Keeper) sync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	err := k.syncSecret(ctx)
	if current := k.serving.Load(); err == nil && k.config.Manage {
		if err = k.syncWebhooks(ctx, current.bundle); err == nil {
			k.injected.Store(true)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lastError = err
	return err
}

func (k *Keeper) syncSecret(ctx context.Context) error {
	secret, err := k.storedSecret(ctx)
	if err != nil {
		return err
	}
	next, err := newServing(secret.Data)
	if err != nil {
		return fmt.Errorf("loading the certificate of Secret %q: %w", k.config.Secret, err)
	}
	k.serve(ctx, next)
	return nil
}

func (k *Keeper) lastFailure() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lastError
}

func (k *Keeper) secretRef() klog.ObjectRef {
	return klog.KRef(k.config.Secret.Namespace, k.config.Secret.Name)
}
