// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	milepost "github.com/milepost-dev/milepost/reporters/go"
	"github.com/milepost-dev/milepost/reporters/go/internal/hooks"
)

// executor holds the reporter that is alive.
type executor struct {
	m     *milepost.Reporter
	lines lines
	now   atomic.Int64 // the manual clock, in nanoseconds
}

type answer map[string]any

var operations = map[string]func(*executor, request) answer{
	"hello": func(*executor, request) answer {
		return answer{"language": "go", "version": milepost.Version, "capabilities": []string{"threads", "null", "wide-int", "huge-int", "references"}}
	},
	"create": (*executor).create,
	"clock": func(e *executor, r request) answer {
		e.now.Store(int64(r.Now * float64(time.Second)))
		return answer{}
	},
	"report": func(e *executor, r request) answer {
		e.m.Report(r.parts()...)
		return answer{}
	},
	"complete": func(e *executor, r request) answer {
		e.m.Complete(r.Metrics...)
		return answer{}
	},
	"fail": func(e *executor, r request) answer {
		e.m.Fail(errors.New(r.Message))
		return answer{}
	},
	"close": func(e *executor, _ request) answer {
		e.m.Close()
		return answer{}
	},
	"stored":  (*executor).stored,
	"logs":    func(e *executor, _ request) answer { return answer{"logs": e.lines.all()} },
	"track":   (*executor).track,
	"scope":   (*executor).scope,
	"measure": (*executor).measure,
	"hammer":  (*executor).hammer,
}

func (e *executor) create(r request) answer {
	o := r.Options
	h := hooks.Hooks{TimeScale: o.TimeScale, LimitScale: o.LimitScale}
	if r.ManualClock {
		h.RateClock = func() time.Duration { return time.Duration(e.now.Load()) }
	}
	options := []milepost.Option{milepost.WithHooks(h)}
	switch o.Log {
	case "default":
	case "broken":
		options = append(options, milepost.WithLogger(slog.New(broken{})))
	default:
		options = append(options, milepost.WithLogger(e.lines.logger()))
	}
	if o.Rank != nil {
		options = append(options, milepost.WithRank(*o.Rank))
	}
	if o.Interval != nil {
		options = append(options, milepost.WithInterval(time.Duration(*o.Interval*float64(time.Second))))
	}
	if o.Signals != nil && !*o.Signals {
		options = append(options, milepost.WithoutSignals())
	}
	e.m = milepost.Start(options...)
	return answer{"active": e.m.Active()}
}

func (e *executor) stored(request) answer {
	stored, ok := e.m.Stored(context.Background())
	if !ok {
		return answer{"stored": nil}
	}
	wire := answer{}
	if stored.Percent != nil {
		wire["progressPercentage"] = *stored.Percent
	}
	if stored.Remaining != nil {
		wire["estimatedRemainingSeconds"] = int(stored.Remaining.Seconds())
	}
	var metrics []answer
	for _, m := range stored.Metrics {
		metrics = append(metrics, answer{"name": m.Name, "value": m.Value})
	}
	if metrics != nil {
		wire["metrics"] = metrics
	}
	if !stored.Updated.IsZero() {
		wire["lastUpdatedTime"] = stored.Updated.Format(time.RFC3339)
	}
	return answer{"stored": wire}
}

func (e *executor) track(r request) (a answer) {
	items, total := r.Items, int64(0)
	if r.Total != nil {
		total = *r.Total
		if items == 0 {
			items = total
		}
	}
	a = answer{"items": 0}
	defer func() {
		if fault := recover(); fault != nil {
			a["raised"] = fmt.Sprint(fault)
		}
	}()
	for i := range milepost.Track(e.m, upTo(items), total, nil) {
		a["items"] = i
		<-time.After(time.Duration(r.Pause * float64(time.Second)))
		if i == r.BreakAt {
			break
		}
		if i == r.FailAt {
			panic("the body failed")
		}
	}
	return a
}

// upTo counts from 1 to n.
func upTo(n int64) func(yield func(int64) bool) {
	return func(yield func(int64) bool) {
		for i := int64(1); i <= n; i++ {
			if !yield(i) {
				return
			}
		}
	}
}

func (e *executor) scope(r request) (a answer) {
	defer func() {
		if fault := recover(); fault != nil {
			a = answer{"raised": fmt.Sprint(fault)}
		}
	}()
	e.create(r)
	defer e.m.Close()
	for _, step := range r.Steps {
		e.m.Report(step.parts()...)
	}
	if r.Raise != "" {
		panic(r.Raise)
	}
	return answer{}
}

func (e *executor) measure(r request) answer {
	took := make([]time.Duration, r.Calls)
	for i := range took {
		loss := 1 / float64(i+1)
		start := time.Now()
		e.m.Report(
			milepost.Step(int64(i)+1, int64(r.Calls)),
			milepost.Metric("loss", loss),
			milepost.Metric("accuracy", 1-loss),
		)
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	at := func(share float64) float64 {
		return float64(took[int(share*float64(len(took)-1))].Nanoseconds()) / 1000
	}
	return answer{"p50": at(0.5), "p99": at(0.99), "max": at(1)}
}

func (e *executor) hammer(r request) answer {
	var group sync.WaitGroup
	for t := range r.Threads {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := range r.Calls {
				e.m.Report(milepost.Step(int64(t*r.Calls+i), int64(r.Threads*r.Calls)), milepost.Metric("thread", t))
			}
		}()
	}
	group.Wait()
	return answer{}
}
