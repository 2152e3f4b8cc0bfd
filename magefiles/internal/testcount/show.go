// SPDX-License-Identifier: Apache-2.0

package testcount

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// finish counts a package, prints its line and, where something failed, what it printed.
func (r *reader) finish(name string, p *packageRun, e event) {
	r.done++
	r.running = slices.DeleteFunc(r.running, func(other string) bool { return other == name })
	sum, failed := p.count(e.Action == "fail")
	for i, skip := range sum.Skips {
		sum.Skips[i] = r.short(name) + " " + skip
	}
	r.result = r.result.Plus(sum)
	if sum.Passed+sum.Failed+sum.Skipped == 0 {
		return // no tests here
	}
	if sum.Failed > 0 && !r.opts.Live {
		r.showFailure(p, e, failed)
	}
	r.print(r.packageLine(name, e, sum))
}

func (r *reader) packageLine(name string, e event, sum Result) string {
	word, progress := "ok  ", ""
	if sum.Failed > 0 {
		word = "FAIL"
	}
	if r.opts.Total > 0 {
		progress = fmt.Sprintf("[%d/%d] ", r.done, r.opts.Total)
	}
	counts := fmt.Sprintf("%d passed", sum.Passed)
	if sum.Failed > 0 {
		counts += fmt.Sprintf(", %d failed", sum.Failed)
	}
	if sum.Skipped > 0 {
		counts += fmt.Sprintf(", %d skipped", sum.Skipped)
	}
	return fmt.Sprintf("%s%s  %-52s %s  (%.1f s)\n", progress, word, r.short(name), counts, e.Elapsed)
}

func (r *reader) showFailure(p *packageRun, e event, failed []string) {
	if said := r.builds[e.FailedBuild]; said != "" {
		r.print(said)
	}
	for _, name := range failed {
		r.print(strings.Join(p.tests[name].output, ""))
	}
	for _, line := range p.output {
		if !isVerdict(line) {
			r.print(line)
		}
	}
}

// abandonUnfinished counts packages whose last word never came, as failed: their test binary or
// the go command was killed.
func (r *reader) abandonUnfinished() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range slices.Clone(r.running) {
		r.finish(name, r.packages[name], event{Action: "fail"})
	}
}

// reportSilence prints what is running whenever nothing finished for a while. The returned
// function ends it.
func (r *reader) reportSilence() (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(silence)
		defer ticker.Stop()
		for begin, done := time.Now(), 0; ; {
			select {
			case <-quit:
				return
			case <-ticker.C:
				done = r.stillRunning(time.Since(begin), done)
			}
		}
	}()
	return func() { close(quit); <-ended }
}

func (r *reader) stillRunning(since time.Duration, doneBefore int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done != doneBefore {
		return r.done
	}
	what := "compiling"
	if len(r.running) > 0 {
		what = "running " + r.short(r.running[0])
		if more := len(r.running) - 1; more > 0 {
			what += fmt.Sprintf(" and %d more", more)
		}
	}
	r.print(fmt.Sprintf("   … %s so far, %s\n", since.Round(time.Second), what))
	return r.done
}
