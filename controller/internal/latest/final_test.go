// SPDX-License-Identifier: Apache-2.0

package latest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

func TestFinalReportIsAnsweredOnlyWhenStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, slow, nothingKept{})
		done := make(chan report.Outcome, 1)
		go func() {
			outcome, err := s.Submit(t.Context(), sender("a", "p"), at(0, 100))
			if err != nil {
				t.Errorf("submitting: %v", err)
			}
			done <- outcome
		}()
		synctest.Wait()
		p := take(t, s)
		select {
		case <-done:
			t.Fatal("answered before it was stored")
		default:
		}
		s.Settle(p, report.Stored)
		if got := <-done; got != report.Stored {
			t.Errorf("outcome %v, want stored", got)
		}
	})
}

func TestFinalReportThatIsNotStoredInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, slow, nothingKept{})
		begun := time.Now()
		_, err := s.Submit(t.Context(), sender("a", "p"), at(0, 100))
		var refusal *report.Refusal
		if !errors.As(err, &refusal) || !errors.Is(err, report.ErrNotStored) || refusal.RetryAfter <= 0 {
			t.Fatalf("error %v, want ErrNotStored with a time to try again", err)
		}
		if waited := time.Since(begun); waited != defaultFinalWait {
			t.Errorf("waited %v, want %v", waited, defaultFinalWait)
		}
		if p := take(t, s); !p.Report.Final() {
			t.Error("the final report was dropped with its caller")
		}
	})
}

func TestFinalReportIsDoneWhenANewerOneIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, slow, nothingKept{})
		done := make(chan error, 1)
		go func() {
			_, err := s.Submit(t.Context(), sender("a", "p"), at(0, 100))
			done <- err
		}()
		synctest.Wait()
		submit(t, s, sender("a", "p"), at(1000, 5))
		s.Settle(take(t, s), report.Stored)
		if err := <-done; err != nil {
			t.Errorf("error %v, want none", err)
		}
	})
}

func TestOlderFinalReportWaitsForTheNewerOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, slow, nothingKept{})
		submit(t, s, sender("a", "p"), at(1000, 5))
		_, err := s.Submit(t.Context(), sender("a", "p"), at(0, 100))
		if !errors.Is(err, report.ErrNotStored) {
			t.Errorf("error %v, want ErrNotStored while the newer report is not stored", err)
		}
		s.Settle(take(t, s), report.Stored)
		if got := submit(t, s, sender("a", "p"), at(0, 100)); got != report.Superseded {
			t.Errorf("outcome %v, want superseded", got)
		}
	})
}

func TestJobThatKeepsSayingItIsCompleteWaitsItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, slow, nothingKept{})
		submit(t, s, sender("other", "p"), at(0, 1))
		s.Settle(take(t, s), report.Stored)
		final := func(ms int) {
			go func() { _, _ = s.Submit(context.Background(), sender("loud", "p"), at(ms, 100)) }()
			synctest.Wait()
		}
		final(0)
		s.Settle(take(t, s), report.Stored)
		submit(t, s, sender("other", "p"), at(1000, 2))
		time.Sleep(time.Second)
		final(1000)
		if got := take(t, s).Job.Name; got != "other" {
			t.Errorf("%q is written first, want the job that waits longer", got)
		}
		s.Forget("uid-loud")
	})
}

func TestFinalReportKeepsNoDistance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, slow, nothingKept{})
		submit(t, s, sender("a", "p"), at(0, 98))
		s.Settle(take(t, s), report.Stored)
		submit(t, s, sender("a", "p"), at(100, 99)) // waits for its distance
		done := make(chan report.Outcome, 1)
		go func() { done <- submit(t, s, sender("a", "p"), at(200, report.FinalPercentage)) }()
		synctest.Wait()
		p := take(t, s)
		if !p.Report.Final() {
			t.Fatalf("handed out %+v, want the final report", p)
		}
		s.Settle(p, report.Stored)
		if outcome := <-done; outcome != report.Stored {
			t.Errorf("outcome %v, want stored", outcome)
		}
	})
}
