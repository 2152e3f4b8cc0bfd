// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/milepost-dev/milepost/controller/internal/intake"
	"github.com/milepost-dev/milepost/controller/internal/latest"
	"github.com/milepost-dev/milepost/controller/internal/statuswriter"
)

var (
	_ intake.Observer       = (*Reports)(nil)
	_ latest.Observer       = (*Reports)(nil)
	_ statuswriter.Observer = (*Reports)(nil)
	_ Waiting               = (*latest.Store)(nil)
)

type waiting struct{}

func (waiting) Len() int                  { return 3 }
func (waiting) OldestWait() time.Duration { return 1500 * time.Millisecond }

func TestReportsAreCountedWithoutNamesOfJobs(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	r, err := NewReports(registry)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.WatchWaiting(registry, waiting{}); err != nil {
		t.Fatal(err)
	}
	r.Answered("POST", 200, 0.002)
	r.Answered("POST", 429, 0.0001)
	r.Refused("expired")
	r.Limited("pod")
	r.Accepted()
	r.Coalesced()
	r.Superseded()
	r.Written(0.01, 0.2)
	r.Skipped("equal")
	r.Failed("conflict")
	want := `
# HELP milepost_reports_accepted_total Reports accepted as the newest of their job.
# TYPE milepost_reports_accepted_total counter
milepost_reports_accepted_total 1
# HELP milepost_reports_limited_total Requests and connections turned away by a limit: pod, namespace, address, server, connections, podConnections or addressConnections.
# TYPE milepost_reports_limited_total counter
milepost_reports_limited_total{limit="pod"} 1
# HELP milepost_reports_oldest_waiting_seconds How long the job that waits longest has had something to store.
# TYPE milepost_reports_oldest_waiting_seconds gauge
milepost_reports_oldest_waiting_seconds 1.5
# HELP milepost_reports_requests_total Requests to the report endpoint by method and status code; code 0 was cut off without an answer.
# TYPE milepost_reports_requests_total counter
milepost_reports_requests_total{code="200",method="POST"} 1
milepost_reports_requests_total{code="429",method="POST"} 1
# HELP milepost_reports_waiting_jobs Jobs with an accepted report that is not stored yet.
# TYPE milepost_reports_waiting_jobs gauge
milepost_reports_waiting_jobs 3
# HELP milepost_reports_writes_total Calls to the API server that store a report, by result: stored, conflict, gone, invalid or fault.
# TYPE milepost_reports_writes_total counter
milepost_reports_writes_total{result="conflict"} 1
milepost_reports_writes_total{result="stored"} 1
`
	names := []string{
		"milepost_reports_accepted_total", "milepost_reports_limited_total", "milepost_reports_oldest_waiting_seconds",
		"milepost_reports_requests_total", "milepost_reports_waiting_jobs", "milepost_reports_writes_total",
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
	if second, err := NewReports(registry); err != nil {
		t.Errorf("a second manager in one process: %v", err)
	} else {
		second.Accepted()
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP milepost_reports_accepted_total Reports accepted as the newest of their job.
# TYPE milepost_reports_accepted_total counter
milepost_reports_accepted_total 1
`), "milepost_reports_accepted_total"); err != nil {
		t.Error(err)
	}
}
