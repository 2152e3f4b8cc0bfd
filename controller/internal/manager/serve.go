// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// stopPatience is how long a start that is under way may take to notice that it is to end.
const stopPatience = 2 * time.Second

// serve runs the manager until ctx ends, and returns why it ended early.
//
// A start that waits for caches does not notice the end of ctx, and would wait on for as long as the
// API server does not answer. Nothing was taken from anybody by then, so it is left behind.
func (p *parts) serve(ctx context.Context) error {
	up := &startMark{started: make(chan struct{})}
	if err := p.Add(up); err != nil {
		return fmt.Errorf("adding the mark of the start: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Start(ctx) }()
	err := awaitEnd(ctx, ended, up.started)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		if err != nil {
			p.Log.Error(err, "ending the manager")
		}
		err = cause // what everything else followed from
	}
	if err != nil {
		return fmt.Errorf("running the manager: %w", err)
	}
	return nil
}

func awaitEnd(ctx context.Context, ended <-chan error, started <-chan struct{}) error {
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	patience := time.NewTimer(stopPatience)
	defer patience.Stop()
	select {
	case err := <-ended:
		return err
	case <-started:
		return <-ended // in good order: what was accepted is stored first
	case <-patience.C:
		return nil
	}
}

// startMark is started with the last of those that do not wait for the election, after all caches are
// filled.
type startMark struct{ started chan struct{} }

var _ manager.LeaderElectionRunnable = (*startMark)(nil)

// NeedLeaderElection is false: the mark is for every replica.
func (m *startMark) NeedLeaderElection() bool { return false }

// Start tells that the caches are filled.
func (m *startMark) Start(context.Context) error {
	close(m.started)
	return nil
}

// heardWebhooks is the webhook server, whose failure ends the manager also while it still starts.
type heardWebhooks struct {
	webhook.Server
	end context.CancelCauseFunc
}

// Start serves until ctx ends.
func (w heardWebhooks) Start(ctx context.Context) error {
	err := w.Server.Start(ctx)
	if err != nil && ctx.Err() == nil {
		w.end(fmt.Errorf("serving webhooks: %w", err))
	}
	return err
}
