// SPDX-License-Identifier: Apache-2.0

package statuswriter

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
	"pgregory.net/rapid"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

// delivery is a report of the one pod of a job, on its way to a replica.
type delivery struct {
	// sent is when the pod made it and late how long it travels, in ms.
	sent, late int
	replica    int
	final      bool
}

// scenario is what happens to one job within a few seconds.
type scenario struct {
	deliveries []delivery
	// coarse is a pod that writes whole seconds.
	coarse bool
	// call is how long a call to the API server takes each way and lag how late
	// the cache of each replica is, in ms.
	call int
	lag  []int
	// kill is when the first replica ends without a word, in ms; 0 means never.
	kill int
}

func draw(t *rapid.T) scenario {
	ms := func(most int) *rapid.Generator[int] { return rapid.IntRange(0, most) }
	s := scenario{
		coarse: rapid.Bool().Draw(t, "coarse"), call: ms(200).Draw(t, "call"),
		lag:  rapid.SliceOfN(ms(1500), 2, 2).Draw(t, "lag"),
		kill: rapid.SampledFrom([]int{0, 0, 500, 1500}).Draw(t, "kill"),
	}
	for range rapid.IntRange(2, 12).Draw(t, "reports") {
		s.deliveries = append(s.deliveries, delivery{
			sent: ms(2500).Draw(t, "sent"), late: ms(800).Draw(t, "late"),
			replica: ms(1).Draw(t, "replica"), final: ms(2).Draw(t, "kind") == 0,
		})
	}
	return s
}

func (s scenario) report(d delivery, begun time.Time) report.Report {
	sent := begun.Add(time.Duration(d.sent) * time.Millisecond)
	if s.coarse {
		sent = sent.Truncate(time.Second)
	}
	progress := int32(d.sent % report.FinalPercentage) //nolint:gosec // below 100
	if d.final {
		progress = report.FinalPercentage
	}
	return report.Report{ProgressPercentage: &progress, SentTime: sent, LastUpdatedTime: sent.Truncate(time.Second)}
}

// goesBefore tells whether a report must not be lost to another one.
func goesBefore(a report.Report, b *report.Report) bool {
	return b == nil || a.After(*b) || a.SentTime.Equal(b.SentTime) && a.Final() && !b.Final()
}

func name(rep *report.Report) string {
	if rep == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s (%d %%)", rep.SentTime.Format("05.000"), *rep.ProgressPercentage)
}

// replica is one process: a store, its writer, and a cache that is late.
type replica struct {
	mu   sync.Mutex
	flow *flow
}

func (r *replica) current() *flow {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.flow
}

// play runs a scenario on two replicas and returns what went wrong.
func (s scenario) play(t *testing.T) (fault string) {
	begun := time.Now()
	api := newFakeAPI(time.Duration(s.call) * time.Millisecond)
	start := func(i int) (*flow, *cutTransport) {
		transport := &cutTransport{next: api}
		cache := &lateCache{api: api, lag: time.Duration(s.lag[i]) * time.Millisecond}
		cluster, err := NewCluster(cache, &rest.Config{Host: "http://api"}, &http.Client{Transport: transport})
		if err != nil {
			t.Fatal(err)
		}
		return run(t, cluster, 50, 100), transport
	}
	var replicas [2]replica
	var first *cutTransport
	replicas[0].flow, first = start(0)
	replicas[1].flow, _ = start(1)

	var mu sync.Mutex
	blame := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		if fault == "" {
			fault = fmt.Sprintf(format, args...)
		}
	}
	var finals []report.Report
	var senders sync.WaitGroup
	for _, d := range s.deliveries {
		senders.Go(func() {
			time.Sleep(time.Duration(d.sent+d.late) * time.Millisecond)
			rep := s.report(d, begun)
			served := replicas[d.replica].current()
			_, err := served.store.Submit(context.Background(), from(apiJob), rep)
			if err != nil || !rep.Final() || served != replicas[d.replica].current() {
				return // not answered with 200, or nothing is promised
			}
			mu.Lock()
			finals = append(finals, rep)
			mu.Unlock()
			if stored := api.stored(); goesBefore(rep, stored) {
				blame("final of %s was answered while %s is stored", name(&rep), name(stored))
			}
		})
	}
	var dead *flow
	if s.kill > 0 {
		time.Sleep(time.Duration(s.kill) * time.Millisecond)
		first.cut()
		dead = replicas[0].current()
		next, _ := start(0)
		replicas[0].mu.Lock()
		replicas[0].flow = next
		replicas[0].mu.Unlock()
	}
	senders.Wait()
	for i := range replicas {
		replicas[i].current().stop()
	}
	if dead != nil {
		dead.stop()
	}
	stored := api.stored()
	for _, rep := range finals {
		if goesBefore(rep, stored) {
			blame("final of %s is lost; stored is %s", name(&rep), name(stored))
		}
	}
	if s.kill == 0 {
		for _, d := range s.deliveries {
			if rep := s.report(d, begun); goesBefore(rep, stored) {
				blame("report of %s is lost; stored is %s", name(&rep), name(stored))
			}
		}
	}
	return fault
}

// TestNoReportOfAPodIsLostBetweenReplicas has one pod report over many connections
// to two replicas, within the same seconds, with caches that are late and an API
// server that is slow; the API server is a fake that keeps versions.
func TestNoReportOfAPodIsLostBetweenReplicas(t *testing.T) {
	rapid.Check(t, func(check *rapid.T) {
		s := draw(check)
		var fault string
		synctest.Test(t, func(t *testing.T) { fault = s.play(t) })
		if fault != "" {
			check.Fatalf("%s in %+v", fault, s)
		}
	})
}
