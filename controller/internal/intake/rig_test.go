// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/milepost-dev/milepost/controller/internal/report"
	"github.com/milepost-dev/milepost/controller/internal/reportapi"
	"github.com/milepost-dev/milepost/controller/internal/reportlink"
	"github.com/milepost-dev/milepost/controller/internal/reportrules"
	"github.com/milepost-dev/milepost/controller/internal/testkit/localca"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var testNow = time.Date(2026, 6, 12, 3, 0, 0, 0, time.UTC)

// tokensOf is an identity that knows tokens by heart: the name of the token is
// the name of the pod, and "other" and the like stand for refusals.
type tokensOf map[string]error

func (k tokensOf) Identify(_ context.Context, bearer string, job report.JobKey) (report.Sender, error) {
	err, known := k[bearer]
	if !known {
		return report.Sender{}, report.Refuse(report.ErrUnproven, "signature", "the signature of the token does not hold")
	}
	if err != nil {
		return report.Sender{}, err
	}
	return report.Sender{Job: job, JobUID: "uid", Pod: bearer, PodUID: "uid-" + "pod"}, nil
}

var known = tokensOf{
	"good":    nil,
	"other":   report.Refuse(report.ErrOtherJob, "otherJob", "the token was issued for another TrainJob"),
	"unknown": report.Refuse(report.ErrUnknownJob, "unknownJob", "Train job not found"),
	"undecided": &report.Refusal{
		Err: report.ErrUnavailable, Reason: "undecided", Message: "cannot check the token at present", RetryAfter: 3 * time.Second,
	},
	"broken": fmt.Errorf("secret detail"),
}

// memory is a store that keeps one report, with faults to inject.
type memory struct {
	mu      sync.Mutex
	newest  *report.Report
	outcome report.Outcome
	err     error
	panics  bool
	block   chan struct{}
	// hold keeps readers until it is closed, whether or not they still wait.
	hold chan struct{}
}

func (m *memory) Submit(ctx context.Context, _ report.Sender, rep report.Report) (report.Outcome, error) {
	if m.panics {
		panic("injected")
	}
	if m.block != nil {
		select {
		case <-m.block:
		case <-ctx.Done():
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return 0, m.err
	}
	if m.outcome != report.Superseded {
		m.newest = &rep
	}
	return m.outcome, nil
}

func (m *memory) Newest(context.Context, report.Sender) (*report.Report, error) {
	if m.hold != nil {
		<-m.hold
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.newest, m.err
}

// rig is a running server on a port of this machine, reached over TLS.
type rig struct {
	t      *testing.T
	server *Server
	store  *memory
	ca     *localca.CA
	client *http.Client
	stop   func() error
}

func newRig(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	ca := localca.New(t)
	cfg := Config{
		Address: "127.0.0.1:0", TLS: ca.ServerConfig(), Clock: clocktesting.NewFakePassiveClock(testNow),
		Limits: Limits{PodRate: 1e6, PodBurst: 1e6}, DrainTimeout: 2 * time.Second,
	}
	if change != nil {
		change(&cfg)
	}
	store := &memory{}
	server, err := New(cfg, known, reportrules.New(clocktesting.NewFakePassiveClock(testNow)), store)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	transport := &http.Transport{TLSClientConfig: ca.ClientConfig()}
	r := &rig{t: t, server: server, store: store, ca: ca, client: &http.Client{Transport: transport}}
	r.stop = sync.OnceValue(func() error {
		cancel()
		err := <-ended
		transport.CloseIdleConnections()
		return err
	})
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("server ends with %v", err)
		}
	})
	waitFor(t, func() bool { return server.Address() != "" })
	return r
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := time.After(10 * time.Second)
	for !done() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("the condition does not come true")
		}
	}
}

const goodBody = `{"trainerStatus":{"progressPercentage":45,"lastUpdatedTime":"2026-06-12T02:59:58.5Z"}}`

func (r *rig) request(method, path, body string) *http.Request {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, "https://"+r.server.Address()+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer good")
	return req
}

type reply struct {
	code   int
	header http.Header
	body   string
	status reportapi.Status
}

func (r *rig) do(req *http.Request) reply {
	r.t.Helper()
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatalf("requesting: %v", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatalf("reading the answer: %v", err)
	}
	got := reply{code: resp.StatusCode, header: resp.Header, body: string(body)}
	if resp.StatusCode != http.StatusOK {
		if err := json.Unmarshal(body, &got.status); err != nil {
			r.t.Fatalf("error body %q: %v", body, err)
		}
	}
	return got
}

var path = reportlink.Path("team", "mnist")
