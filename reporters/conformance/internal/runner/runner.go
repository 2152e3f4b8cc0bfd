// SPDX-License-Identifier: Apache-2.0

// Package runner plays cases: it starts an executor as a process, plays the status server, and
// compares what arrives with what the case wants.
//
// It owns the comparison and the closing table. It does not own cases: they are in openapi/vectors.
package runner

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/milepost-dev/milepost/reporters/conformance/internal/vectors"
)

// Options says what to run.
type Options struct {
	Root      string   // of the repository
	Languages []string // names, none for all
	Cases     []string // beginnings of ids, none for all
	Parallel  int      // cases at the same time
	Strict    bool     // whether a missing toolchain is an error
	Out       io.Writer
}

// verdict is what became of a case in a language.
type verdict string

const (
	passed     verdict = "passed"
	wrong      verdict = "failed"
	expected   verdict = "known to fail" // and it does
	surprising verdict = "passed although known to fail"
	absent     verdict = "n/a"
)

// result is a case in a language.
type result struct {
	language *Language
	test     vectors.Case
	verdict  verdict
	err      error
	took     time.Duration
	clock    clock
}

// bad tells whether a result fails the run.
func (r result) bad() bool { return r.verdict == wrong || r.verdict == surprising }

// Run runs the cases and returns how many went well and how many did not.
func Run(ctx context.Context, o Options) (good, bad, skipped int, err error) {
	cases, err := vectors.Cases(filepath.Join(o.Root, vectors.Folder))
	if err != nil {
		return 0, 0, 0, err
	}
	cases = slices.DeleteFunc(cases, func(c vectors.Case) bool { return !selected(c.ID, o.Cases) })
	languages, err := Languages(o.Root)
	if err != nil {
		return 0, 0, 0, err
	}
	if len(cases) == 0 {
		return 0, 0, 0, fmt.Errorf("no case begins with %s", strings.Join(o.Cases, " or "))
	}
	var results []result
	var shown []*Language
	for _, l := range languages {
		if len(o.Languages) > 0 && !slices.Contains(o.Languages, l.Name) {
			continue
		}
		if tool := l.missing(ctx); tool != "" {
			skipped++
			fmt.Fprintf(o.Out, "skipped: %s: %q does not work here\n", l.Name, tool)
			if o.Strict {
				bad++
			}
			continue
		}
		fmt.Fprintf(o.Out, "%s: %d cases\n", l.Name, len(cases))
		shown = append(shown, l)
		results = append(results, l.runAll(ctx, cases, o)...)
	}
	printTable(o.Out, shown, results)
	printClocks(o.Out, results)
	for _, r := range results {
		if r.bad() {
			bad++
		} else if r.verdict != absent {
			good++
		}
	}
	return good, bad, skipped, nil
}

func selected(id string, beginnings []string) bool {
	return len(beginnings) == 0 || slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(id, b) })
}

// runAll runs all cases in one language and says which failed as soon as they do.
func (l *Language) runAll(ctx context.Context, cases []vectors.Case, o Options) []result {
	results := make([]result, len(cases))
	if err := l.build(ctx); err != nil {
		for i, c := range cases {
			results[i] = result{language: l, test: c, verdict: wrong, err: err}
		}
		fmt.Fprintf(o.Out, "FAIL  %s: %v\n", l.Name, err)
		return results
	}
	var group sync.WaitGroup
	var printing sync.Mutex
	one := func(i int) {
		results[i] = l.runOne(ctx, cases[i])
		printing.Lock()
		defer printing.Unlock()
		results[i].print(o.Out)
	}
	places := make(chan struct{}, max(1, o.Parallel))
	for i, c := range cases {
		if !measures(c) {
			group.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				one(i)
			})
		}
	}
	group.Wait()
	for i, c := range cases { // alone, so that they measure the reporter and not each other
		if measures(c) {
			one(i)
		}
	}
	return results
}

func measures(c vectors.Case) bool {
	return slices.ContainsFunc(c.Steps, func(s vectors.Step) bool { return s.Action == "measure" })
}

// runOne runs a case, or finds that it does not concern the language.
func (l *Language) runOne(ctx context.Context, c vectors.Case) result {
	r := result{language: l, test: c}
	if !l.can(c.Needs) || slices.ContainsFunc(c.Lacks, func(name string) bool { return l.can([]string{name}) }) {
		r.verdict = absent
		return r
	}
	begin := time.Now()
	r.clock = clockNow()
	r.err = run(ctx, l, c, r.clock)
	r.took = time.Since(begin)
	known := slices.Contains(l.known, c.ID)
	switch {
	case r.err == nil && known:
		r.verdict = surprising
	case r.err == nil:
		r.verdict = passed
	case known:
		r.verdict = expected
	default:
		r.verdict = wrong
	}
	return r
}

func (r result) print(out io.Writer) {
	switch r.verdict {
	case wrong:
		fmt.Fprintf(out, "FAIL  %s  %s  %s  %.1f s\n  %v\n", r.language.Name, r.test.ID, strings.Join(r.test.Duties, " "), r.took.Seconds(), r.err)
	case surprising:
		fmt.Fprintf(out, "FAIL  %s  %s passes: take it off %s/%s.txt\n", r.language.Name, r.test.ID, knownFailing, r.language.Name)
	case expected:
		fmt.Fprintf(out, "known to fail  %s  %s\n", r.language.Name, r.test.ID)
	}
}
