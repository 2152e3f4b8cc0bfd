// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/milepost-dev/milepost/reporters/conformance/internal/vectors"
)

// Cost is what a reporter costs its program in front of an endpoint of some kind.
type Cost struct {
	Language string  `json:"language"`
	Endpoint string  `json:"endpoint"` // live, slow or dead
	Calls    int     `json:"calls"`
	P50      float64 `json:"p50"`  // microseconds of a call
	P99      float64 `json:"p99"`  // microseconds of a call
	Max      float64 `json:"max"`  // microseconds of a call
	Exit     float64 `json:"exit"` // seconds from the end of main to the end of the process
}

// endpoints are the kinds of servers. A slow one answers after 3 s, a dead one accepts connections
// and never says a word.
var endpoints = []struct {
	name   string
	server vectors.Server
}{
	{"live", vectors.Server{}},
	{"slow", vectors.Server{Then: json.RawMessage(`{"delay": 3}`)}},
	{"dead", vectors.Server{Mode: "silent"}},
}

const (
	warmCalls     = 20_000 // compilers that work at run time get theirs done
	measuredCalls = 100_000
)

// Costs measures every language whose tools are here, one after the other.
func Costs(ctx context.Context, o Options) (costs []Cost, err error) {
	languages, err := Languages(o.Root)
	if err != nil {
		return nil, err
	}
	for _, l := range languages {
		if len(o.Languages) > 0 && !slices.Contains(o.Languages, l.Name) {
			continue
		}
		if tool := l.missing(ctx); tool != "" {
			fmt.Fprintf(o.Out, "skipped: %s: %q does not work here\n", l.Name, tool)
			continue
		}
		if err := l.build(ctx); err != nil {
			return nil, err
		}
		for _, e := range endpoints {
			cost, err := l.cost(ctx, e.name, e.server)
			if err != nil {
				return nil, fmt.Errorf("measuring %s with a %s endpoint: %w", l.Name, e.name, err)
			}
			fmt.Fprintf(o.Out, "%s, %s endpoint: p99 %.1f µs, end in %.2f s\n", l.Name, e.name, cost.P99, cost.Exit)
			costs = append(costs, cost)
		}
	}
	return costs, nil
}

// cost measures calls that follow each other without pause, and then the end of the program.
func (l *Language) cost(ctx context.Context, name string, server vectors.Server) (cost Cost, err error) {
	p := &play{test: vectors.Case{Server: server}, language: l, clock: 1}
	if err := p.open(); err != nil {
		return Cost{}, err
	}
	defer func() { err = closeAll(p, err) }()
	if p.process, err = l.start(ctx, p.environment, p.clock); err != nil {
		return Cost{}, err
	}
	cost = Cost{Language: l.Name, Endpoint: name, Calls: measuredCalls}
	for _, request := range []struct {
		op, fields string
	}{{"create", `{}`}, {"measure", fmt.Sprintf(`{"calls": %d}`, warmCalls)}, {"measure", fmt.Sprintf(`{"calls": %d}`, measuredCalls)}} {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(request.fields), &fields); err != nil {
			return Cost{}, err
		}
		answer, err := p.process.ask(request.op, fields)
		if err != nil {
			return Cost{}, err
		}
		for field, into := range map[string]*float64{"p50": &cost.P50, "p99": &cost.P99, "max": &cost.Max} {
			_ = json.Unmarshal(answer[field], into) // the answer to create has none
		}
	}
	begin := time.Now()
	if err := p.exit(json.RawMessage(`{"how": "return"}`)); err != nil {
		return Cost{}, err
	}
	err = p.ended(json.RawMessage(`{"within": 15, "code": 0}`))
	cost.Exit = time.Since(begin).Seconds()
	return cost, err
}

func closeAll(p *play, failure error) error {
	if err := p.close(failure); failure == nil {
		return err
	}
	return failure
}

// PrintCosts writes the costs as a table.
func PrintCosts(out io.Writer, costs []Cost) {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	defer func() { _ = table.Flush() }()
	fmt.Fprintln(table, "\nlanguage\tendpoint\tp50 µs\tp99 µs\tmax µs\tend s\t")
	for _, c := range costs {
		fmt.Fprintf(table, "%s\t%s\t%.1f\t%.1f\t%.0f\t%.2f\t\n", c.Language, c.Endpoint, c.P50, c.P99, c.Max, c.Exit)
	}
}
