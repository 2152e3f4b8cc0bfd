// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

const (
	// mostTries bounds how often a report is repeated after a Retry-After.
	mostTries = 5
	// longestWait bounds how long a client waits for one, as a person's patience would.
	longestWait = 10 * time.Second
	// refusedPause keeps a closed loop from spinning on a port nobody listens on.
	refusedPause = 10 * time.Millisecond
)

// send sends the reports of the group until its time is over.
func (g *groupRun) send(ctx context.Context) {
	switch g.Mode {
	case Closed:
		g.sendClosed(ctx)
	case Open:
		g.sendOpen(ctx)
	case Periodic:
		g.sendPeriodic(ctx)
	}
}

func (g *groupRun) sendClosed(ctx context.Context) {
	var wg sync.WaitGroup
	for id := range g.Connections {
		wg.Go(func() {
			c := newClient(g.run.dialer)
			defer c.close()
			for i := id; ctx.Err() == nil; i += g.Connections {
				now := time.Now()
				if now.Sub(g.run.start) >= g.run.total() {
					return
				}
				g.report(ctx, c, delivery{client: id, target: i % len(g.Targets), due: now, deadline: now.Add(g.run.Timeout)})
			}
		})
	}
	wg.Wait()
}

func (g *groupRun) sendOpen(ctx context.Context) {
	// Room for all that can become due while every client waits for a stalled server.
	room := int(g.Rate*g.run.Timeout.Seconds()) + g.Connections
	arrivals := make(chan delivery, room)
	var wg sync.WaitGroup
	for id := range g.Connections {
		wg.Go(func() {
			c := newClient(g.run.dialer)
			defer c.close()
			for d := range arrivals {
				d.client = id
				g.report(ctx, c, d)
			}
		})
	}
	target := 0
	for after := range openSchedule(g.Rate, g.run.total()) {
		due := g.run.start.Add(after)
		if !sleepUntil(ctx, due) {
			break
		}
		g.run.noteLateness(time.Since(due))
		arrivals <- delivery{target: target, due: due, deadline: due.Add(g.run.Timeout)}
		target = (target + 1) % len(g.Targets)
	}
	close(arrivals)
	wg.Wait()
}

func (g *groupRun) sendPeriodic(ctx context.Context) {
	var wg sync.WaitGroup
	for id := range g.Targets {
		wg.Go(func() {
			c := newClient(g.run.dialer)
			defer c.close()
			for next := range periodicSchedule(g.rng(id), g.Group, g.run.total()) {
				due := g.run.start.Add(next.after)
				waited := time.Until(due) > 0
				if !sleepUntil(ctx, due) {
					return
				}
				if waited {
					g.run.noteLateness(time.Since(due))
				}
				g.report(ctx, c, g.periodicDelivery(id, due, next.final))
			}
		})
	}
	wg.Wait()
}

// periodicDelivery gives a client its full patience from the moment it is free. A report whose
// interval has passed meanwhile is not sent at all: its successor is due.
func (g *groupRun) periodicDelivery(id int, due time.Time, final bool) delivery {
	now := time.Now()
	d := delivery{client: id, target: id, due: due, deadline: now.Add(g.run.Timeout), final: final}
	if !final && now.Sub(due) >= g.Interval {
		d.deadline = due
	}
	return d
}

// delivery is one report to be sent.
type delivery struct {
	client   int // picks a tally
	target   int
	due      time.Time
	deadline time.Time
	final    bool
}

// report sends one report, repeats it where the server asks for that and the group honours it, and
// counts what became of it.
func (g *groupRun) report(ctx context.Context, c *client, d delivery) {
	v := verdict{final: d.final}
	job := g.run.jobs.index[g.Targets[d.target].Job]
	r := report{at: time.Now(), base: g.run.Sequence, final: d.final}
	if r.at.After(d.deadline) {
		v.err = &failure{failedExpired, errors.New("no client was free in time")}
	} else {
		r.step = g.run.jobs.counts[job].Add(1)
		c.body = appendBody(c.body[:0], r)
		g.deliver(ctx, c, d, &v)
	}
	done := time.Now()
	v.took = done.Sub(d.due)
	if d.due.Sub(g.run.start) >= g.run.Warmup {
		g.tallies[d.client%len(g.tallies)].add(&v)
	}
	if v.accepted() {
		final := uint32(0)
		if d.final {
			final = 1
		}
		g.run.history.add(record{Job: job, Sequence: r.sequence(), Final: final, At: done.UnixNano()})
	}
	if v.err != nil && kindOf(v.err) == failedConnect {
		sleepUntil(ctx, done.Add(refusedPause))
	}
}

func (g *groupRun) deliver(ctx context.Context, c *client, d delivery, v *verdict) {
	deadline := d.deadline
	for {
		got, err := c.send(ctx, deadline, g.heads[d.target], c.body, g.Reconnect)
		if err != nil {
			v.err = err
			return
		}
		v.answers = append(v.answers, got)
		refused := got.code == http.StatusTooManyRequests || got.code == http.StatusServiceUnavailable
		if !g.Retry || !refused || got.retryAfter == 0 || len(v.answers) == mostTries {
			return
		}
		if !sleepUntil(ctx, time.Now().Add(min(got.retryAfter, longestWait))) {
			return
		}
		deadline = time.Now().Add(g.run.Timeout)
	}
}

// sleepUntil returns false when ctx ends first.
func sleepUntil(ctx context.Context, moment time.Time) bool {
	wait := time.Until(moment)
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
