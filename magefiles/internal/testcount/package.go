// SPDX-License-Identifier: Apache-2.0

package testcount

import (
	"regexp"
	"strconv"
	"strings"
)

// packageRun is what is known of one package while its tests run.
type packageRun struct {
	tests  map[string]*testRun
	order  []string
	output []string // what was printed outside any test
}

type testRun struct {
	verdict string // pass, fail or skip; empty while the test runs
	parent  bool   // has subtests, so it is not counted itself
	specs   *Result
	output  []string
}

func newPackageRun() *packageRun { return &packageRun{tests: map[string]*testRun{}} }

func (p *packageRun) test(e event, live func(string)) {
	t := p.testRun(e.Test)
	switch e.Action {
	case "output":
		t.output = append(t.output, e.Output)
		if specs := ginkgoCount(e.Output); specs != nil {
			t.specs = specs
		}
		live(e.Output)
	case "pass", "fail", "skip":
		t.verdict = e.Action
	}
}

func (p *packageRun) testRun(name string) *testRun {
	t, known := p.tests[name]
	if !known {
		t = &testRun{}
		p.tests[name] = t
		p.order = append(p.order, name)
		if i := strings.LastIndex(name, "/"); i > 0 {
			p.testRun(name[:i]).parent = true
		}
	}
	return t
}

// count adds the tests up and names those that failed or were skipped. A test without a verdict
// is one that took the whole package down.
func (p *packageRun) count(packageFailed bool) (sum Result, failed []string) {
	for _, name := range p.order {
		t := p.tests[name]
		one := t.count(packageFailed)
		if one.Failed > 0 || (t.parent && t.verdict == "fail") {
			failed = append(failed, name)
		}
		if one.Skipped > 0 {
			one.Skips = []string{name + reasonToSkip(t.output)}
		}
		sum = sum.Plus(one)
	}
	if packageFailed && sum.Failed == 0 {
		sum.Failed = 1 // a build failure, a panic in TestMain, or a parent that failed by itself
	}
	return sum, failed
}

func (t *testRun) count(packageFailed bool) Result {
	switch {
	case t.specs != nil:
		return t.specsOrFailure()
	case t.parent:
		return Result{}
	case t.verdict == "pass":
		return Result{Passed: 1}
	case t.verdict == "skip":
		return Result{Skipped: 1}
	case t.verdict == "fail" || packageFailed:
		return Result{Failed: 1}
	}
	return Result{}
}

// specsOrFailure gives the count of the suite, and one failure when the suite failed outside its
// specs.
func (t *testRun) specsOrFailure() Result {
	sum := *t.specs
	if t.verdict != "pass" && sum.Failed == 0 {
		sum.Failed = 1
	}
	return sum
}

var (
	colour      = regexp.MustCompile("\x1b\\[[0-9;]*m")
	ginkgoTotal = regexp.MustCompile(`-- (\d+) Passed \| (\d+) Failed \| (\d+) Pending \| (\d+) Skipped`)
	skipReason  = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)$`)
)

// ginkgoCount reads the closing line of a Ginkgo suite, nil when the line is another one.
func ginkgoCount(line string) *Result {
	found := ginkgoTotal.FindStringSubmatch(colour.ReplaceAllString(line, ""))
	if found == nil {
		return nil
	}
	var n [4]int
	for i := range n {
		n[i], _ = strconv.Atoi(found[i+1])
	}
	return &Result{Passed: n[0], Failed: n[1], Skipped: n[2] + n[3]}
}

func reasonToSkip(output []string) string {
	for _, line := range output {
		if found := skipReason.FindStringSubmatch(strings.TrimRight(line, "\n")); found != nil {
			return ": " + found[1]
		}
	}
	return ""
}
