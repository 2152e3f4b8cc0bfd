// SPDX-License-Identifier: Apache-2.0

package load

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/milepost-dev/milepost/e2e/bench/pki"
)

const serverName = "reports.test"

// server is a real HTTPS server in this process that counts its connections.
type server struct {
	address     string
	ca          []byte
	connections atomic.Int64
}

func startServer(t *testing.T, handler http.HandlerFunc) *server {
	t.Helper()
	authority, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Server(serverName)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{ca: authority.PEM()}
	ts := httptest.NewUnstartedServer(handler)
	ts.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	ts.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	ts.StartTLS()
	t.Cleanup(ts.Close)
	s.address = ts.Listener.Addr().String()
	return s
}

func (s *server) plan(groups ...Group) *Plan {
	return &Plan{
		Address: s.address, ServerName: serverName, CA: s.ca,
		Duration: 300 * time.Millisecond, Timeout: 5 * time.Second, Groups: groups,
	}
}

func targets(n int) []Target {
	all := make([]Target, n)
	for i := range all {
		job := fmt.Sprintf("job-%d", i)
		all[i] = Target{Job: job, Path: "/" + job, Token: "token-of-" + job}
	}
	return all
}

func TestRunCountsWhatTheServerSaw(t *testing.T) {
	tests := map[string]struct {
		group           Group
		wantExact       int64 // reports; 0 when the number depends on speed
		wantConnections func(accepted int64) int64
	}{
		"a closed loop keeps its connections": {
			group:           Group{Name: "g", Mode: Closed, Connections: 4, Targets: targets(8)},
			wantConnections: func(int64) int64 { return 4 },
		},
		"a client that reconnects makes a connection for each report": {
			group:           Group{Name: "g", Mode: Closed, Connections: 4, Targets: targets(8), Reconnect: true},
			wantConnections: func(accepted int64) int64 { return accepted },
		},
		"an open loop sends its rate": {
			group:           Group{Name: "g", Mode: Open, Connections: 4, Rate: 200, Targets: targets(8)},
			wantExact:       60,
			wantConnections: func(int64) int64 { return 4 },
		},
		"clients beyond the number of targets share them": {
			group:           Group{Name: "g", Mode: Open, Connections: 6, Rate: 200, Targets: targets(2)},
			wantExact:       60,
			wantConnections: func(int64) int64 { return 6 },
		},
		"every periodic target has a client of its own": {
			group:           Group{Name: "g", Mode: Periodic, Interval: 100 * time.Millisecond, Targets: targets(8)},
			wantExact:       24,
			wantConnections: func(int64) int64 { return 8 },
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var seen atomic.Int64
			s := startServer(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer token-of-"+r.URL.Path[1:] {
					w.WriteHeader(http.StatusForbidden)
					return
				}
				seen.Add(1)
			})
			out, err := Run(t.Context(), s.plan(tc.group))
			if err != nil {
				t.Fatal(err)
			}
			got := out.Group("g")
			if got.Accepted == 0 || got.Accepted != seen.Load() || got.Accepted != got.Due || len(got.Errors) != 0 {
				t.Errorf("accepted %d of %d, the server saw %d, errors %v", got.Accepted, got.Due, seen.Load(), got.Errors)
			}
			if tc.wantExact != 0 && got.Due != tc.wantExact {
				t.Errorf("%d reports were due, want %d", got.Due, tc.wantExact)
			}
			if tc.wantConnections != nil && s.connections.Load() != tc.wantConnections(got.Accepted) {
				t.Errorf("%d connections, want %d", s.connections.Load(), tc.wantConnections(got.Accepted))
			}
		})
	}
}

func TestTargetsOf(t *testing.T) {
	tests := map[string]struct {
		connections, targets int
		want                 [][]int
	}{
		"fewer clients than targets share them out":       {connections: 3, targets: 5, want: [][]int{{0, 3}, {1, 4}, {2}}},
		"more clients than targets share each":            {connections: 5, targets: 2, want: [][]int{{0}, {1}, {0}, {1}, {0}}},
		"as many clients as targets have one each":        {connections: 2, targets: 2, want: [][]int{{0}, {1}}},
		"a single client reports for everyone in turn":    {connections: 1, targets: 3, want: [][]int{{0, 1, 2}}},
		"many clients may all report for a single target": {connections: 3, targets: 1, want: [][]int{{0}, {0}, {0}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			g := &groupRun{Group: &Group{Connections: tc.connections, Targets: targets(tc.targets)}}
			var got [][]int
			for client := range tc.connections {
				got = append(got, g.targetsOf(client))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("targets of each client (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunChargesAStallToEveryReportItDelays(t *testing.T) {
	var first atomic.Bool
	stalled := make(chan struct{})
	s := startServer(t, func(http.ResponseWriter, *http.Request) {
		if first.CompareAndSwap(false, true) {
			<-stalled
		}
	})
	time.AfterFunc(200*time.Millisecond, func() { close(stalled) })
	out, err := Run(t.Context(), s.plan(Group{Name: "g", Mode: Open, Connections: 1, Rate: 100, Targets: targets(1)}))
	if err != nil {
		t.Fatal(err)
	}
	got := out.Group("g")
	if got.Due != 30 || got.Accepted != 30 {
		t.Fatalf("accepted %d of %d, want 30 of 30", got.Accepted, got.Due)
	}
	if got.Latency.P50 < 20 {
		t.Errorf("p50 = %v ms: the reports behind the stalled one were not charged for it", got.Latency.P50)
	}
}

func TestRunCountsFailuresByKind(t *testing.T) {
	release := make(chan struct{})
	s := startServer(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/job-0" {
			panic(http.ErrAbortHandler)
		}
		<-release
	})
	defer close(release)
	plan := s.plan(
		Group{Name: "aborted", Mode: Open, Connections: 1, Rate: 10, Targets: targets(1)},
		Group{Name: "silent", Mode: Open, Connections: 2, Rate: 10, Targets: targets(2)[1:]},
	)
	plan.Timeout = 50 * time.Millisecond
	out, err := Run(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int64{failedClosed: 3}, out.Group("aborted").Errors); diff != "" {
		t.Errorf("errors of the aborted group (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{failedTimeout: 3}, out.Group("silent").Errors); diff != "" {
		t.Errorf("errors of the silent group (-want +got):\n%s", diff)
	}
}

func TestRunHonoursRetryAfter(t *testing.T) {
	tests := map[string]struct {
		retry        bool
		wantAccepted int64
		wantCodes    map[string]int64
	}{
		"a client that retries gets its report through": {
			retry: true, wantAccepted: 1, wantCodes: map[string]int64{"503": 1, "200": 1},
		},
		"a client that does not retry loses it": {
			wantCodes: map[string]int64{"503": 1},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tries atomic.Int64
			s := startServer(t, func(w http.ResponseWriter, _ *http.Request) {
				if tries.Add(1) == 1 {
					w.Header().Set("Retry-After", "1")
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			})
			out, err := Run(t.Context(), s.plan(Group{
				Name: "g", Mode: Periodic, Interval: 300 * time.Millisecond, Targets: targets(1), Retry: tc.retry,
			}))
			if err != nil {
				t.Fatal(err)
			}
			got := out.Group("g")
			if got.Accepted != tc.wantAccepted {
				t.Errorf("accepted %d, want %d", got.Accepted, tc.wantAccepted)
			}
			if diff := cmp.Diff(tc.wantCodes, got.Codes); diff != "" {
				t.Errorf("codes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunWritesAHistoryOfAcceptedReports(t *testing.T) {
	var mu sync.Mutex
	sent := map[string]int{}
	s := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			TrainerStatus struct{ ProgressPercentage int }
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		sent[r.URL.Path[1:]]++
		if sent[r.URL.Path[1:]] == 2 {
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	plan := s.plan(Group{Name: "g", Mode: Periodic, Interval: 100 * time.Millisecond, Targets: targets(2)})
	plan.History = filepath.Join(t.TempDir(), "history")
	if _, err := Run(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	history, err := ReadHistory(plan)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]uint32{}
	for _, a := range history {
		got[a.Job] = append(got[a.Job], a.Sequence)
		if time.Since(a.At) > time.Minute || a.Final {
			t.Errorf("unexpected record %+v", a)
		}
	}
	want := map[string][]uint32{"job-0": {1, 3}, "job-1": {1, 3}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("accepted sequences (-want +got):\n%s", diff)
	}
}

func TestPlanValidate(t *testing.T) {
	good := Group{Name: "g", Mode: Closed, Connections: 1, Targets: targets(1)}
	tests := map[string]struct {
		change  func(*Plan)
		wantErr bool
	}{
		"a complete plan is taken":          {change: func(*Plan) {}},
		"no address":                        {change: func(p *Plan) { p.Address = "" }, wantErr: true},
		"no duration":                       {change: func(p *Plan) { p.Duration = 0 }, wantErr: true},
		"no timeout":                        {change: func(p *Plan) { p.Timeout = 0 }, wantErr: true},
		"no groups":                         {change: func(p *Plan) { p.Groups = nil }, wantErr: true},
		"a group without targets":           {change: func(p *Plan) { p.Groups[0].Targets = nil }, wantErr: true},
		"a closed loop without connections": {change: func(p *Plan) { p.Groups[0].Connections = 0 }, wantErr: true},
		"an open loop without a rate":       {change: func(p *Plan) { p.Groups[0].Mode = Open }, wantErr: true},
		"periodic reports without interval": {change: func(p *Plan) { p.Groups[0].Mode = Periodic }, wantErr: true},
		"a mode that does not exist":        {change: func(p *Plan) { p.Groups[0].Mode = "random" }, wantErr: true},
		"jitter of more than the interval":  {change: func(p *Plan) { p.Groups[0].Mode, p.Groups[0].Interval, p.Groups[0].Jitter = Periodic, 1, 2 }, wantErr: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			plan := &Plan{Address: "127.0.0.1:1", Duration: 1, Timeout: 1, Groups: []Group{good}}
			tc.change(plan)
			path := filepath.Join(t.TempDir(), "plan.json")
			if err := plan.Write(path); err != nil {
				t.Fatal(err)
			}
			got, err := ReadPlan(path)
			if (err != nil) != tc.wantErr {
				t.Fatalf("ReadPlan() error = %v, want error %v", err, tc.wantErr)
			}
			if diff := cmp.Diff(plan, got); err == nil && diff != "" {
				t.Errorf("plan (-written +read):\n%s", diff)
			}
		})
	}
}
