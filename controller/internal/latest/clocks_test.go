// SPDX-License-Identifier: Apache-2.0

package latest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

// TestAReplicaWhoseFakeClockIsBehind has another replica, whose clock is ahead of
// the one here, store a report. Times of pods that are right look far ahead here
// and were replaced by the time here, so that they seem older than what is stored.
func TestAReplicaWhoseFakeClockIsBehind(t *testing.T) {
	cases := map[string]struct {
		ahead time.Duration
		want  report.Outcome
	}{
		"ten minutes: the order of arrival decides":    {ahead: 10 * time.Minute, want: report.Stored},
		"four minutes, as the clock of a pod may be":   {ahead: 4 * time.Minute, want: report.Superseded},
		"not at all, and the report here is the newer": {ahead: -time.Second, want: report.Stored},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stored := at(int(tc.ahead.Milliseconds()), 99)
				s := newStore(t, fast, kept{JobUID: sender("job", "pod").JobUID, Report: &stored})
				answered := make(chan report.Outcome, 1)
				go func() { answered <- submit(t, s, sender("job", "pod"), at(0, 100)) }()
				synctest.Wait()
				if p, ok := s.Take(); ok {
					s.Settle(p, report.Stored)
				}
				if got := <-answered; got != tc.want {
					t.Errorf("the final report is %v, want %v", got, tc.want)
				}
			})
		})
	}
}
