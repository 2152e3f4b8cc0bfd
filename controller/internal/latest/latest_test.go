// SPDX-License-Identifier: Apache-2.0

package latest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

// start is when the clock of a synctest bubble begins.
var start = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// paceOf is a pace with a fixed time per write.
type paceOf time.Duration

func (p paceOf) Expect(before int) time.Duration { return time.Duration(before+1) * time.Duration(p) }

// nothingKept is a keeper of jobs that were never reported for.
type nothingKept struct{}

func (nothingKept) Load(context.Context, report.JobKey) (report.Kept, error) {
	return report.Kept{}, nil
}

// kept is a keeper with one answer for every job.
type kept report.Kept

func (k kept) Load(context.Context, report.JobKey) (report.Kept, error) { return report.Kept(k), nil }

const (
	fast = paceOf(time.Millisecond)
	slow = paceOf(time.Hour)
)

func newStore(t *testing.T, pace Pace, keeper Keeper) *Store {
	t.Helper()
	s, err := New(Config{}, pace, keeper)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sender(job, pod string) report.Sender {
	return report.Sender{
		Job:    report.JobKey{Namespace: "ns", Name: job},
		JobUID: types.UID("uid-" + job), Pod: pod, PodUID: types.UID("uid-" + pod),
	}
}

// newPod is a sender whose pod was made after all else in a test.
func newPod(from report.Sender) report.Sender {
	from.PodCreated = time.Now().Add(time.Hour)
	return from
}

// at is a report with a progress, sent so many milliseconds after start.
func at(ms int, progress int32) report.Report {
	sent := start.Add(time.Duration(ms) * time.Millisecond)
	return report.Report{ProgressPercentage: &progress, SentTime: sent, LastUpdatedTime: sent.Truncate(time.Second)}
}

func submit(t *testing.T, s *Store, from report.Sender, r report.Report) report.Outcome {
	t.Helper()
	outcome, err := s.Submit(t.Context(), from, r)
	if err != nil {
		t.Fatalf("submitting: %v", err)
	}
	return outcome
}

func take(t *testing.T, s *Store) report.Pending {
	t.Helper()
	p, ok := s.Take()
	if !ok {
		t.Fatal("nothing to take")
	}
	return p
}

func TestNewestOfAJobIsWrittenOnce(t *testing.T) {
	s := newStore(t, slow, nothingKept{})
	for i := range 5 {
		submit(t, s, sender("a", "p"), at(i*1000, int32(i)))
	}
	p := take(t, s)
	if diff := cmp.Diff(at(4000, 4), p.Report); diff != "" {
		t.Errorf("taken report (-want +got):\n%s", diff)
	}
	if _, more := s.Take(); more {
		t.Error("a job with one newest report was handed out twice")
	}
	s.Settle(p, report.Stored)
	if got := s.Len(); got != 0 {
		t.Errorf("%d jobs unsettled, want 0", got)
	}
}

func TestWhichReportsAreSuperseded(t *testing.T) {
	cases := map[string]struct {
		first, second             report.Report
		firstSender, secondSender report.Sender
		want                      report.Outcome
	}{
		"an older report of the same pod": {
			first: at(2000, 50), second: at(1000, 40), firstSender: sender("a", "p"), secondSender: sender("a", "p"),
			want: report.Superseded,
		},
		"an older report of the same pod within one second": {
			first: at(900, 50), second: at(100, 40), firstSender: sender("a", "p"), secondSender: sender("a", "p"),
			want: report.Superseded,
		},
		"an older report of another pod counts, since clocks differ": {
			first: at(2000, 50), second: at(1000, 40), firstSender: sender("a", "p"), secondSender: sender("a", "q"),
			want: report.Accepted,
		},
		"lower progress at a later time counts, as after a resume": {
			first: at(1000, 50), second: at(2000, 0), firstSender: sender("a", "p"), secondSender: sender("a", "p"),
			want: report.Accepted,
		},
		"a report of another pod that was under way when the job completed": {
			first: at(1000, 100), second: at(900, 99), firstSender: sender("a", "p"), secondSender: sender("a", "q"),
			want: report.Superseded,
		},
		"training that goes on after a final report": {
			first: at(1000, 100), second: at(2000, 10), firstSender: sender("a", "p"), secondSender: sender("a", "q"),
			want: report.Accepted,
		},
		"a pod made after the final report, with a clock that is behind": {
			first: at(1000, 100), second: at(900, 0), firstSender: sender("a", "p"), secondSender: newPod(sender("a", "q")),
			want: report.Accepted,
		},
		"a job of the same name with another life": {
			first: at(2000, 50), second: at(1000, 40), firstSender: sender("a", "p"),
			secondSender: report.Sender{Job: report.JobKey{Namespace: "ns", Name: "a"}, JobUID: "uid-new", PodUID: "uid-p"},
			want:         report.Accepted,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t, slow, nothingKept{})
				go func() { _, _ = s.Submit(context.Background(), tc.firstSender, tc.first) }()
				synctest.Wait()
				if got := submit(t, s, tc.secondSender, tc.second); got != tc.want {
					t.Errorf("outcome %v, want %v", got, tc.want)
				}
				s.Forget("uid-a")
			})
		})
	}
}

func TestReportOlderThanWhatAnotherProcessStored(t *testing.T) {
	stored := at(10_000, 60)
	k := kept{JobUID: "uid-a", Report: &stored, WrittenTime: start.Add(10 * time.Second)}
	t.Run("is superseded", func(t *testing.T) {
		s := newStore(t, slow, k)
		if got := submit(t, s, sender("a", "p"), at(5000, 50)); got != report.Superseded {
			t.Errorf("outcome %v, want superseded", got)
		}
	})
	t.Run("counts when its pod was made after that was stored", func(t *testing.T) {
		s := newStore(t, slow, k)
		from := sender("a", "p")
		from.PodCreated = start.Add(time.Minute)
		if got := submit(t, s, from, at(5000, 50)); got != report.Accepted {
			t.Errorf("outcome %v, want accepted", got)
		}
	})
}

func TestQuietWriterIsWaitedForAndABusyOneIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, fast, nothingKept{})
		go func() {
			<-s.Wake()
			p, _ := s.Take()
			time.Sleep(100 * time.Millisecond)
			s.Settle(p, report.Stored)
		}()
		if got := submit(t, s, sender("a", "p"), at(0, 1)); got != report.Stored {
			t.Errorf("outcome %v, want stored", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, fast, nothingKept{})
		begun := time.Now()
		if got := submit(t, s, sender("a", "p"), at(0, 1)); got != report.Accepted {
			t.Errorf("outcome %v, want accepted", got)
		}
		if waited := time.Since(begun); waited != defaultQuickWait {
			t.Errorf("waited %v for a write that was expected, want %v", waited, defaultQuickWait)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, slow, nothingKept{})
		begun := time.Now()
		submit(t, s, sender("a", "p"), at(0, 1))
		if waited := time.Since(begun); waited != 0 {
			t.Errorf("waited %v behind other jobs, want none", waited)
		}
	})
}

func TestOrderOfWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, slow, nothingKept{})
		// Jobs old1 and old2 are shown already; old2 waits longer.
		for _, job := range []string{"old1", "old2"} {
			submit(t, s, sender(job, "p"), at(0, 1))
			s.Settle(take(t, s), report.Stored)
		}
		submit(t, s, sender("old2", "p"), at(1000, 2))
		time.Sleep(time.Second)
		submit(t, s, sender("old1", "p"), at(2000, 2))
		submit(t, s, sender("new", "p"), at(2000, 2))
		submit(t, s, sender("old2", "p"), at(3000, 3)) // keeps its place
		go func() { _, _ = s.Submit(context.Background(), sender("done", "p"), at(3000, 100)) }()
		synctest.Wait()
		var got []string
		for {
			p, ok := s.Take()
			if !ok {
				break
			}
			got = append(got, p.Job.Name)
			s.Settle(p, report.Stored)
		}
		if diff := cmp.Diff([]string{"done", "new", "old2", "old1"}, got); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

func TestRetryKeepsTheNewestAndItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, slow, nothingKept{})
		submit(t, s, sender("a", "p"), at(0, 1))
		p := take(t, s)
		submit(t, s, sender("a", "p"), at(1000, 2))
		s.Retry(p, time.Second)
		if got := s.Due(); got != time.Second {
			t.Errorf("due in %v, want 1s", got)
		}
		if _, ok := s.Take(); ok {
			t.Error("taken before its time")
		}
		time.Sleep(time.Second)
		again := take(t, s)
		if diff := cmp.Diff(at(1000, 2), again.Report); diff != "" {
			t.Errorf("retried report (-want +got):\n%s", diff)
		}
		if !again.Since.Equal(p.Since) {
			t.Errorf("since %v, want %v", again.Since, p.Since)
		}
		s.Retry(again, time.Hour)
		s.Hasten()
		if got := s.Due(); got != 0 {
			t.Errorf("due in %v after hastening, want 0", got)
		}
	})
}

func TestReportDuringAWriteIsWrittenNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, slow, nothingKept{})
		submit(t, s, sender("a", "p"), at(0, 1))
		p := take(t, s)
		time.Sleep(time.Second)
		submit(t, s, sender("a", "p"), at(1000, 2))
		if _, ok := s.Take(); ok {
			t.Fatal("two writes of one job at a time")
		}
		s.Settle(p, report.Stored)
		if waited := s.OldestWait(); waited != 0 {
			t.Errorf("oldest waits %v, want 0: it was accepted just now", waited)
		}
		time.Sleep(s.Due())
		next := take(t, s)
		if *next.Report.ProgressPercentage != 2 || next.Written == nil || !next.Written.Equal(p.Report) {
			t.Errorf("next is %+v, want progress 2 and what was written", next)
		}
	})
}

func TestWritesOfOneJobKeepTheirDistance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, slow, nothingKept{})
		submit(t, s, sender("busy", "p"), at(0, 1))
		s.Settle(take(t, s), report.Stored)

		submit(t, s, sender("busy", "p"), at(100, 2))
		if p, ok := s.Take(); ok {
			t.Fatalf("%+v was handed out right after a write of its job", p)
		}
		if due := s.Due(); due != defaultMinGap {
			t.Errorf("next write is due in %v, want %v", due, defaultMinGap)
		}
		submit(t, s, sender("quiet", "q"), at(200, 3))
		if p := take(t, s); p.Job.Name != "quiet" {
			t.Errorf("job %q goes first, want the quiet one", p.Job.Name)
		}
		time.Sleep(defaultMinGap)
		if p := take(t, s); p.Job.Name != "busy" || *p.Report.ProgressPercentage != 2 {
			t.Errorf("after the gap comes %+v, want the newest of the busy job", p)
		}
	})
}

func TestForgottenJobAnswersItsCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, slow, nothingKept{})
		done := make(chan error, 1)
		go func() {
			_, err := s.Submit(t.Context(), sender("a", "p"), at(0, 100))
			done <- err
		}()
		synctest.Wait()
		p := take(t, s)
		s.Forget("uid-a")
		s.Settle(p, report.Stored) // comes too late and must do nothing
		if err := <-done; !errors.Is(err, report.ErrUnknownJob) {
			t.Errorf("error %v, want ErrUnknownJob", err)
		}
		if got := s.Len(); got != 0 {
			t.Errorf("%d jobs unsettled, want 0", got)
		}
	})
}

func TestRejectedReportIsNotRememberedAsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, slow, nothingKept{})
		refused := errors.New("refused by the API")
		go func() {
			<-s.Wake()
			p, _ := s.Take()
			s.Reject(p, refused)
		}()
		if _, err := s.Submit(t.Context(), sender("a", "p"), at(0, 100)); !errors.Is(err, refused) {
			t.Errorf("error %v, want the refusal", err)
		}
		_, err := s.Submit(t.Context(), sender("a", "p"), at(0, 100))
		if !errors.Is(err, report.ErrNotStored) {
			t.Errorf("sending it again gives %v, want ErrNotStored", err)
		}
	})
}

func TestReportSentAgainIsStoredAlready(t *testing.T) {
	s := newStore(t, slow, nothingKept{})
	submit(t, s, sender("a", "p"), at(0, 1))
	s.Settle(take(t, s), report.Stored)
	if got := submit(t, s, sender("a", "p"), at(0, 1)); got != report.Stored {
		t.Errorf("outcome %v, want stored", got)
	}
	if _, ok := s.Take(); ok {
		t.Error("an equal report was queued again")
	}
}

func TestNewestIsTheNewerOfStoreAndKeeper(t *testing.T) {
	stored := at(5000, 50)
	cases := map[string]struct {
		submitted *report.Report
		want      report.Report
	}{
		"only stored":              {want: stored},
		"a newer one not written":  {submitted: new(at(6000, 60)), want: at(6000, 60)},
		"an older one than stored": {submitted: new(at(4000, 40)), want: stored},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, slow, kept{JobUID: "uid-a", Report: &stored})
			if tc.submitted != nil {
				submit(t, s, sender("a", "p"), *tc.submitted)
			}
			got, err := s.Newest(t.Context(), sender("a", "p"))
			if err != nil || got == nil {
				t.Fatalf("got %v, %v", got, err)
			}
			if diff := cmp.Diff(tc.want, *got); diff != "" {
				t.Errorf("newest (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReportersPerJobAreBounded(t *testing.T) {
	s, err := New(Config{MaxReporters: 2}, slow, nothingKept{})
	if err != nil {
		t.Fatal(err)
	}
	submit(t, s, sender("a", "p1"), at(1000, 1))
	submit(t, s, sender("a", "p2"), at(2000, 1))
	submit(t, s, sender("a", "p3"), at(3000, 1))
	if got := len(s.entries["uid-a"].lastSeen); got != 2 {
		t.Errorf("%d pods remembered, want 2", got)
	}
	if got := submit(t, s, sender("a", "p2"), at(1000, 1)); got != report.Superseded {
		t.Errorf("outcome %v, want superseded: the pod that was silent longest goes", got)
	}
}
