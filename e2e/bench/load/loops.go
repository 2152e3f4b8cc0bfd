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
			own := g.targetsOf(id)
			for i := 0; ctx.Err() == nil; i++ {
				now := time.Now()
				if now.Sub(g.run.start) >= g.run.total() {
					return
				}
				g.report(ctx, c, delivery{client: id, target: own[i%len(own)], due: now, deadline: now.Add(g.run.Timeout)})
			}
		})
	}
	wg.Wait()
}

// targetsOf are the targets a client reports for. As in a cluster, where each job has one client, no
// two clients share a target unless there are more of them than targets: reports of one job that pass
// each other would have no order by which to tell what is newest.
func (g *groupRun) targetsOf(client int) []int {
	if client >= len(g.Targets) {
		return []int{client % len(g.Targets)}
	}
	var own []int
	for target := client; target < len(g.Targets); target += g.Connections {
		own = append(own, target)
	}
	return own
}

func (g *groupRun) sendOpen(ctx context.Context) {
	// Room for all that can become due while a client waits for a stalled server.
	room := int(g.Rate/float64(g.Connections)*g.run.Timeout.Seconds()) + 16
	queues := make([]chan delivery, g.Connections)
	var wg sync.WaitGroup
	for id := range queues {
		queues[id] = make(chan delivery, room)
		wg.Go(func() {
			c := newClient(g.run.dialer)
			defer c.close()
			for d := range queues[id] {
				g.report(ctx, c, d)
			}
		})
	}
	g.dispatch(ctx, queues)
	for _, queue := range queues {
		close(queue)
	}
	wg.Wait()
}

// dispatch hands each report, when it is due, to the client of its target.
func (g *groupRun) dispatch(ctx context.Context, queues []chan delivery) {
	count := 0
	for after := range openSchedule(g.Rate, g.run.total()) {
		due := g.run.start.Add(after)
		if !sleepUntil(ctx, due) {
			return
		}
		g.run.noteLateness(time.Since(due))
		target := count % len(g.Targets)
		client := target % len(queues)
		if len(queues) > len(g.Targets) {
			client = count % len(queues)
		}
		queues[client] <- delivery{client: client, target: target, due: due, deadline: due.Add(g.run.Timeout)}
		count++
	}
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
	if v.accepted() && !g.Untracked {
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
