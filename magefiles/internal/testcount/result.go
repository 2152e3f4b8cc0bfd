// SPDX-License-Identifier: Apache-2.0

// Package testcount turns the events of `go test -json` into progress lines, the output of what
// failed and one closing count.
//
// It owns what counts as a test. It does not own which packages are tested.
package testcount

import (
	"fmt"
	"slices"
)

// Result counts finished checks. A test with subtests is not counted, its subtests are; a
// Ginkgo suite counts its specs.
type Result struct {
	Passed, Failed, Skipped int
	Skips                   []string // what was skipped and why, one line each
}

// Plus is the sum of two results.
func (r Result) Plus(other Result) Result {
	return Result{
		Passed:  r.Passed + other.Passed,
		Failed:  r.Failed + other.Failed,
		Skipped: r.Skipped + other.Skipped,
		Skips:   slices.Concat(r.Skips, other.Skips),
	}
}

// Line is the closing count.
func (r Result) Line() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", r.Passed, r.Failed, r.Skipped)
}

// Err is nil when something ran and nothing failed.
func (r Result) Err() error {
	switch {
	case r.Failed > 0:
		return fmt.Errorf("%d of %d tests failed", r.Failed, r.Passed+r.Failed)
	case r.Passed == 0:
		return fmt.Errorf("no test ran (%d skipped)", r.Skipped)
	}
	return nil
}
