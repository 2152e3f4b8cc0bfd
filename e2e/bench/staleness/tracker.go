// SPDX-License-Identifier: Apache-2.0

// Package staleness measures how old the stored value of a job is: it watches TrainJobs while
// reports are sent and compares what is stored, and when, with what was accepted.
//
// It owns the watch and the comparison. It does not own the reports, nor how old is too old.
package staleness

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/milepost-dev/milepost/e2e/bench/load"
)

// settlePoll is how often Settle looks whether all has been seen.
const settlePoll = 50 * time.Millisecond

// Tracker watches the TrainJobs of one namespace.
type Tracker struct {
	mu     sync.Mutex
	seen   []Sighting
	newest map[string]uint32 // highest sequence seen, by job
	err    error

	stop    context.CancelFunc
	stopped chan struct{}
}

// Start begins to watch. The first sightings are what is stored now.
func Start(ctx context.Context, trainJobs dynamic.ResourceInterface) (*Tracker, error) {
	list, err := trainJobs.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing TrainJobs: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	t := &Tracker{newest: map[string]uint32{}, stop: stop, stopped: make(chan struct{})}
	for i := range list.Items {
		t.see(&list.Items[i])
	}
	go func() {
		defer close(t.stopped)
		t.follow(ctx, trainJobs, list.GetResourceVersion())
	}()
	return t, nil
}

// follow reopens the watch where the API server ends it, which it does every half an hour or so.
func (t *Tracker) follow(ctx context.Context, trainJobs dynamic.ResourceInterface, version string) {
	for ctx.Err() == nil {
		events, err := trainJobs.Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
		if err != nil {
			t.fail(ctx, fmt.Errorf("watching TrainJobs: %w", err))
			return
		}
		for event := range events.ResultChan() {
			object, isObject := event.Object.(*unstructured.Unstructured)
			if event.Type == watch.Error || !isObject {
				t.fail(ctx, fmt.Errorf("watching TrainJobs: %w", apierrors.FromObject(event.Object)))
				events.Stop()
				return
			}
			version = object.GetResourceVersion()
			if event.Type == watch.Added || event.Type == watch.Modified {
				t.see(object)
			}
		}
	}
}

// fail keeps the error, unless it is how the end of the watch shows itself.
func (t *Tracker) fail(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
}

func (t *Tracker) see(object *unstructured.Unstructured) {
	now := time.Now()
	sequence, final := stored(object)
	t.mu.Lock()
	defer t.mu.Unlock()
	job := object.GetName()
	t.seen = append(t.seen, Sighting{Job: job, Sequence: sequence, Final: final, At: now})
	t.newest[job] = max(t.newest[job], sequence)
}

// stored reads from a TrainJob which report its status came from.
func stored(object *unstructured.Unstructured) (sequence uint32, final bool) {
	progress, _, _ := unstructured.NestedInt64(object.Object, "status", "trainerStatus", "progressPercentage")
	metrics, _, _ := unstructured.NestedSlice(object.Object, "status", "trainerStatus", "metrics")
	for _, metric := range metrics {
		fields, _ := metric.(map[string]any)
		if fields["name"] != load.SequenceMetric {
			continue
		}
		text, _ := fields["value"].(string)
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return 0, false
		}
		return uint32(n), progress == 100
	}
	return 0, false
}

// Settle waits until the newest accepted report of every job has been seen, at most for limit.
func (t *Tracker) Settle(ctx context.Context, accepted []load.Accepted, limit time.Duration) error {
	want := map[string]uint32{}
	for _, a := range accepted {
		want[a.Job] = max(want[a.Job], a.Sequence)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(settlePoll)
	defer ticker.Stop()
	for !t.hasSeen(want) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.stopped:
			return t.err
		case <-ticker.C:
		}
	}
	return nil
}

func (t *Tracker) hasSeen(want map[string]uint32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for job, sequence := range want {
		if t.newest[job] < sequence {
			return false
		}
	}
	return true
}

// Stop ends the watch and returns all sightings.
func (t *Tracker) Stop() ([]Sighting, error) {
	t.stop()
	<-t.stopped
	return t.seen, t.err
}
