// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/milepost-dev/milepost/e2e/bench/controlplane"
	"github.com/milepost-dev/milepost/e2e/bench/load"
	"github.com/milepost-dev/milepost/e2e/bench/process"
	"github.com/milepost-dev/milepost/e2e/bench/result"
	"github.com/milepost-dev/milepost/e2e/bench/scenario"
	"github.com/milepost-dev/milepost/e2e/bench/staleness"
	"github.com/milepost-dev/milepost/e2e/bench/subject"
)

const (
	// clientTimeout is that of the published clients.
	clientTimeout = 5 * time.Second
	// settleLimit is how long the last values may take to be stored.
	settleLimit = 2 * time.Minute
	// sequenceStep keeps the reports of one run apart from those of the next.
	sequenceStep = 10_000_000
)

// measureTask measures one scenario with each of its servers. Only what makes the rest impossible
// is an error.
func (b *bed) measureTask(ctx context.Context, t task, report *result.Report) error {
	for _, server := range t.servers {
		for i := range t.scenario.Phases {
			phase := &t.scenario.Phases[i]
			start := time.Now()
			m, err := b.measure(ctx, t.scenario, server, phase)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				report.Skipped = append(report.Skipped, fmt.Sprintf("%s of %s: %v", t.scenario.Name, server, err))
				b.config.Log("skipped %s of %s: %v", t.scenario.Name, server, err)
			default:
				report.Measures = append(report.Measures, *m)
				b.logMeasure(m, time.Since(start))
			}
			if err := b.plane.Alive(); err != nil {
				return fmt.Errorf("the control plane is incomplete: %w", err)
			}
		}
	}
	return nil
}

func (b *bed) logMeasure(m *result.Measure, took time.Duration) {
	for i := range m.Load.Groups {
		g := &m.Load.Groups[i]
		b.config.Log("%-16s %-16s %-16s %8s/s accepted, %s of those due, p99 %s ms (%s)",
			m.Scenario, m.Server, g.Name+" "+m.Phase, result.Count(g.Rate()), result.Percent(g.Share()),
			result.Millis(g.Latency.P99), took.Round(time.Second))
	}
}

// measure is one run: a fresh server, the traffic of one phase, and what came of it.
func (b *bed) measure(ctx context.Context, s *scenario.Scenario, server result.Server, phase *scenario.Phase) (*result.Measure, error) {
	dir, err := b.runDir(s, server)
	if err != nil {
		return nil, err
	}
	running, err := b.start(ctx, server, dir, phase)
	if running != nil && running.Process != nil {
		defer b.stop(running)
	}
	if err != nil {
		return nil, err
	}
	m := &result.Measure{Scenario: s.Name, Server: server, Phase: phase.Name}
	plan := b.plan(running, phase, dir)
	if !s.Track || server == result.Echo {
		plan.History = ""
	}
	if err := b.send(ctx, m, running, plan, filepath.Join(dir, "plan.json")); err != nil {
		return nil, err
	}
	return m, running.Process.Alive()
}

func (b *bed) plan(server *subject.Server, phase *scenario.Phase, dir string) *load.Plan {
	return &load.Plan{
		Address: server.Address, ServerName: server.Name, CA: server.CA,
		Warmup: phase.Warmup, Duration: phase.Duration, Timeout: clientTimeout,
		// The same seed for every server: each meets the same moments.
		Seed: 1, Sequence: uint32(b.runs * sequenceStep),
		Groups: phase.Groups(b.pods), History: filepath.Join(dir, "history"),
	}
}

// send runs the generator between two looks at the counters.
func (b *bed) send(ctx context.Context, m *result.Measure, server *subject.Server, plan *load.Plan, path string) error {
	if err := plan.Write(path); err != nil {
		return err
	}
	tracker, err := b.track(ctx, plan)
	if err != nil {
		return err
	}
	if tracker != nil {
		defer func() { _, _ = tracker.Stop() }() // again, where it has been stopped below
	}
	before, err := b.look(ctx, server)
	if err != nil {
		return err
	}
	out, err := process.Output(ctx, b.config.Bench, "load", path)
	if err != nil {
		return err
	}
	m.Load = &load.Outcome{}
	if err := json.Unmarshal(out, m.Load); err != nil {
		return fmt.Errorf("reading the generator's result: %w", err)
	}
	sent, err := b.look(ctx, server)
	if err != nil {
		return err
	}
	m.Cost = sent.costSince(before, m.Load)
	if tracker != nil {
		if m.Staleness, err = settle(ctx, tracker, plan); err != nil {
			return err
		}
	}
	return b.count(ctx, m, before)
}

func (b *bed) track(ctx context.Context, plan *load.Plan) (*staleness.Tracker, error) {
	if plan.History == "" {
		return nil, nil // nothing is to be tracked
	}
	return staleness.Start(ctx, b.trainJobs)
}

// settle waits for the last values and compares all of them with what was accepted.
func settle(ctx context.Context, tracker *staleness.Tracker, plan *load.Plan) (*staleness.Report, error) {
	accepted, err := load.ReadHistory(plan)
	if err != nil {
		return nil, err
	}
	if err := tracker.Settle(ctx, accepted, settleLimit); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, err // values that never came are counted below
	}
	seen, err := tracker.Stop()
	if err != nil {
		return nil, err
	}
	report := staleness.Join(accepted, seen)
	return &report, nil
}

// count adds the API writes since the first report.
func (b *bed) count(ctx context.Context, m *result.Measure, before *look) error {
	writes, err := b.plane.Writes(ctx)
	if err != nil {
		return err
	}
	made := writes.Minus(before.writes)
	m.Writes = result.Writes{
		Status: made.Status, TrainJobs: made.TrainJobs, Others: made.Others, Seconds: time.Since(before.at).Seconds(),
	}
	return nil
}

// look is the state of all counters at one moment.
type look struct {
	at      time.Time
	machine time.Duration
	server  process.Usage
	plane   map[string]process.Usage
	writes  controlplane.Writes
}

func (b *bed) look(ctx context.Context, server *subject.Server) (*look, error) {
	l := &look{at: time.Now(), plane: map[string]process.Usage{}}
	var err error
	if l.machine, err = process.MachineCPU(); err != nil {
		return nil, err
	}
	if l.server, err = server.Process.Usage(); err != nil {
		return nil, err
	}
	for _, part := range b.plane.Processes() {
		if l.plane[part.Name()], err = part.Usage(); err != nil {
			return nil, err
		}
	}
	l.writes, err = b.plane.Writes(ctx)
	return l, err
}

// costSince is what was used between two looks, and by whom.
func (l *look) costSince(before *look, generator *load.Outcome) result.Cost {
	seconds := l.at.Sub(before.at).Seconds()
	cores := func(now, then process.Usage) float64 { return (now.CPU - then.CPU).Seconds() / seconds }
	c := result.Cost{
		Server:    cores(l.server, before.server),
		Generator: generator.CPUSeconds / generator.Seconds,
		APIServer: cores(l.plane["kube-apiserver"], before.plane["kube-apiserver"]),
		Etcd:      cores(l.plane["etcd"], before.plane["etcd"]),
		Resident:  l.server.Resident, PeakResident: l.server.PeakResident,
	}
	known := c.Server + c.Generator + c.APIServer + c.Etcd
	c.Others = max(0, (l.machine-before.machine).Seconds()/seconds-known)
	return c
}
