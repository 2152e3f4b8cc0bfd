// SPDX-License-Identifier: Apache-2.0

package latest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

func TestReportDuringAWriteDoesNotWaitForTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, fast, nothingKept{})
		first := make(chan report.Outcome, 1)
		go func() { first <- submit(t, s, sender("a", "p"), at(0, 1)) }()
		synctest.Wait()
		p := take(t, s)
		begun := time.Now()
		if got := submit(t, s, sender("a", "p"), at(100, 2)); got != report.Accepted {
			t.Errorf("outcome %v, want accepted", got)
		}
		if waited := time.Since(begun); waited > 0 {
			t.Errorf("answered after %v, although the next write keeps its distance", waited)
		}
		s.Settle(p, report.Stored)
		if got := <-first; got != report.Stored {
			t.Errorf("outcome of the first %v, want stored", got)
		}
	})
}
