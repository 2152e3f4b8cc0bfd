// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Outcome is the result of a run.
type Outcome struct {
	Groups []GroupOutcome `json:"groups"`
	// CPUSeconds is what the generator itself used while it measured.
	CPUSeconds float64 `json:"cpuSeconds"`
	Seconds    float64 `json:"seconds"`
	// Lateness tells how far behind its own schedule the generator sent reports for which a client
	// was free. It is part of every open-loop latency; when it is large, the generator was the limit.
	Lateness Latency `json:"latenessMs"`
}

// Group returns the outcome of the group with that name, empty when there is none.
func (o *Outcome) Group(name string) GroupOutcome {
	for _, g := range o.Groups {
		if g.Name == name {
			return g
		}
	}
	return GroupOutcome{Name: name, Seconds: o.Seconds}
}

// Run carries the plan out. It returns early, with an error, only when ctx ends.
func Run(ctx context.Context, plan *Plan) (*Outcome, error) {
	r, err := newRun(plan)
	if err != nil {
		return nil, err
	}
	atStart := make(chan time.Duration, 1)
	timer := time.AfterFunc(plan.Warmup, func() { atStart <- ownCPU() })
	defer timer.Stop()
	var wg sync.WaitGroup
	for _, g := range r.groups {
		wg.Go(func() { g.send(ctx) })
	}
	wg.Wait()
	if err := errors.Join(ctx.Err(), r.history.close()); err != nil {
		return nil, err
	}
	used := ownCPU() - <-atStart
	out := &Outcome{CPUSeconds: used.Seconds(), Seconds: plan.Duration.Seconds(), Lateness: r.lateness.latency()}
	for _, g := range r.groups {
		out.Groups = append(out.Groups, outcome(g.Name, plan.Duration, g.tallies))
	}
	return out, nil
}

// run is the state shared by all groups.
type run struct {
	*Plan
	dialer  *dialer
	jobs    *jobs
	history *history
	start   time.Time
	groups  []*groupRun

	latenessMu sync.Mutex
	lateness   histogram
}

// groupRun is the state of one group.
type groupRun struct {
	*Group
	run     *run
	index   int
	heads   [][]byte
	tallies []*tally // more than one, so that clients do not queue for a lock
}

func newRun(plan *Plan) (*run, error) {
	if err := plan.Validate(); err != nil {
		return nil, err
	}
	dialer, err := newDialer(plan)
	if err != nil {
		return nil, err
	}
	history, err := createHistory(plan.History)
	if err != nil {
		return nil, err
	}
	r := &run{Plan: plan, dialer: dialer, jobs: newJobs(plan), history: history, lateness: newHistogram(), start: time.Now()}
	for i := range plan.Groups {
		g := &groupRun{Group: &plan.Groups[i], run: r, index: i}
		for _, target := range g.Targets {
			g.heads = append(g.heads, requestHead(plan.Address, target, g.Reconnect))
		}
		for range 4 * runtime.GOMAXPROCS(0) {
			g.tallies = append(g.tallies, newTally())
		}
		r.groups = append(r.groups, g)
	}
	return r, nil
}

// total is the time during which reports become due.
func (r *run) total() time.Duration { return r.Warmup + r.Duration }

func (r *run) noteLateness(d time.Duration) {
	r.latenessMu.Lock()
	defer r.latenessMu.Unlock()
	r.lateness.record(d)
}

// rng gives each client of a group random numbers of its own that a second run repeats.
func (g *groupRun) rng(client int) *rand.Rand {
	return rand.New(rand.NewPCG(g.run.Seed+uint64(g.index)<<32, uint64(client)))
}

// ownCPU is the user and system time of this process.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
