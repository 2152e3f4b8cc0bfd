// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

func TestGoodReportIsAnsweredWithWhatIsStored(t *testing.T) {
	r := newRig(t, nil)
	got := r.do(r.request(http.MethodPost, path, `{"extra":1,"trainerStatus":{"progressPercentage":45,"estimatedRemainingSeconds":120,"metrics":[{"name":"loss","value":"<0.15>"}],"lastUpdatedTime":"2026-06-12T04:59:58.5+02:00"}}`))
	want := `{"trainerStatus":{"progressPercentage":45,"estimatedRemainingSeconds":120,"metrics":[{"name":"loss","value":"\u003c0.15\u003e"}],"lastUpdatedTime":"2026-06-12T02:59:58Z"}}` + "\n"
	if got.code != http.StatusOK || got.body != want {
		t.Errorf("answer %d %s, want 200 %s", got.code, got.body, want)
	}
	if ct := got.header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("content type %q", ct)
	}
	if warnings := got.header.Values("Warning"); warnings != nil {
		t.Errorf("warnings %q for a report without fault", warnings)
	}
	read := r.do(r.request(http.MethodGet, path, ""))
	if read.code != http.StatusOK || read.body != want {
		t.Errorf("reading gives %d %s, want the same", read.code, read.body)
	}
}

func TestReportThatSaysNothing(t *testing.T) {
	r := newRig(t, nil)
	for _, body := range []string{`{}`, `null`, `{"trainerStatus":null}`, `{"other":1}`} {
		if got := r.do(r.request(http.MethodPost, path, body)); got.code != http.StatusOK || got.body != "{}\n" {
			t.Errorf("%s is answered %d %q, want 200 {}", body, got.code, got.body)
		}
	}
	if r.store.newest != nil {
		t.Error("something was submitted")
	}
	if got := r.do(r.request(http.MethodGet, path, "")); got.code != http.StatusOK || got.body != "{}\n" {
		t.Errorf("reading gives %d %q, want 200 {}", got.code, got.body)
	}
}

func TestContentTypeIsIgnored(t *testing.T) {
	r := newRig(t, nil)
	for _, ct := range []string{"", "application/x-www-form-urlencoded", "text/plain; charset=latin1", "nonsense", "multipart/form-data"} {
		req := r.request(http.MethodPost, path, goodBody)
		req.Header["Content-Type"] = []string{ct}
		if got := r.do(req); got.code != http.StatusOK {
			t.Errorf("content type %q is answered %d", ct, got.code)
		}
	}
}

func TestWarnings(t *testing.T) {
	metrics := func(n int) string {
		return strings.TrimSuffix(strings.Repeat(`{"name":"","value":"1"},`, n), ",")
	}
	report1 := func(rest string) string {
		return `{"trainerStatus":{` + rest + `,"lastUpdatedTime":"2026-06-12T03:00:00Z"}}`
	}
	cases := map[string]struct {
		body  string
		first string
		count int
		last  string
	}{
		"a fraction": {
			body: report1(`"progressPercentage":45.7`), count: 1,
			first: `299 - "trainerStatus.progressPercentage 45.7 was taken as 45"`,
		},
		"ten metrics": {
			body: report1(`"metrics":[` + metrics(10) + `]`), count: 10,
			first: `299 - "trainerStatus.metrics[0] has no name; metric left out"`,
			last:  `299 - "trainerStatus.metrics[9] has no name; metric left out"`,
		},
		"more than ten end with a count": {
			body: report1(`"metrics":[` + metrics(14) + `]`), count: 11, last: `299 - "and 4 more"`,
		},
		"names that would break a header or a terminal": {
			body:  report1(`"metrics":[{"name":"a\"\\\r\nX: \u001b[31mé","value":""}]`),
			count: 1, first: `299 - "trainerStatus.metrics[0] (a\"\\??X: ?[31m?) has no value; metric left out"`,
		},
	}
	r := newRig(t, nil)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := r.do(r.request(http.MethodPost, path, tc.body))
			warnings := got.header.Values("Warning")
			if got.code != http.StatusOK || len(warnings) != tc.count {
				t.Fatalf("answer %d with warnings %q, want 200 with %d", got.code, warnings, tc.count)
			}
			if tc.first != "" && warnings[0] != tc.first {
				t.Errorf("first warning %s, want %s", warnings[0], tc.first)
			}
			if tc.last != "" && warnings[len(warnings)-1] != tc.last {
				t.Errorf("last warning %s, want %s", warnings[len(warnings)-1], tc.last)
			}
		})
	}
	t.Run("an older report", func(t *testing.T) {
		r.store.outcome = report.Superseded
		got := r.do(r.request(http.MethodPost, path, goodBody))
		if w := got.header.Get("Warning"); got.code != http.StatusOK || !strings.HasPrefix(w, `299 - "superseded`) {
			t.Errorf("answer %d with warning %q", got.code, w)
		}
	})
}

func TestRefusals(t *testing.T) {
	bearer := func(value string) func(*http.Request) {
		return func(req *http.Request) { req.Header.Set("Authorization", value) }
	}
	cases := map[string]struct {
		method, path, body string
		change             func(*http.Request)
		store              func(*memory)
		code               int
		reason, message    string
		header             map[string]string
		causes             []reportapi.StatusCause
	}{
		"no token": {
			change: func(req *http.Request) { req.Header.Del("Authorization") },
			code:   401, reason: "Unauthorized", message: "Unauthorized: a bearer token is required",
			header: map[string]string{"WWW-Authenticate": `Bearer realm="trainjobs"`},
		},
		"a token that does not hold": {
			change: bearer("Bearer forged"), code: 401, reason: "Unauthorized",
			message: "Unauthorized: the signature of the token does not hold",
			header:  map[string]string{"WWW-Authenticate": `Bearer realm="trainjobs", error="invalid_token"`},
		},
		"two Authorization headers": {
			change: func(req *http.Request) { req.Header["Authorization"] = []string{"Bearer good", "Bearer good"} },
			code:   401, reason: "Unauthorized", message: "Unauthorized: more than one Authorization header was sent",
		},
		"a token in the query": {
			path: path + "?access_token=good&token=good", change: func(req *http.Request) { req.Header.Del("Authorization") },
			code: 401, reason: "Unauthorized", message: "Unauthorized: a bearer token is required",
		},
		"a token of another job": {
			change: bearer("Bearer other"), code: 403, reason: "Forbidden",
			message: "Forbidden: the token was issued for another TrainJob",
		},
		"a job that does not exist": {change: bearer("Bearer unknown"), code: 404, reason: "NotFound", message: "Train job not found"},
		"a caller that cannot be checked": {
			change: bearer("Bearer undecided"), code: 503, reason: "ServiceUnavailable", message: "cannot check the token at present",
			header: map[string]string{"Retry-After": "3"},
		},
		"a fault of the server keeps its details": {
			change: bearer("Bearer broken"), code: 500, reason: "InternalError", message: "Internal Server Error",
		},
		"a fault comes before the body": {change: bearer("Bearer other"), body: "invalid payload", code: 403, reason: "Forbidden", message: "Forbidden: the token was issued for another TrainJob"},
		"another method":                {method: http.MethodPut, code: 405, reason: "MethodNotAllowed", message: "PUT is not supported here; use GET or POST", header: map[string]string{"Allow": "GET, POST"}},
		"a method nobody knows":         {method: "BREW", code: 405, reason: "MethodNotAllowed", message: "BREW is not supported here; use GET or POST", header: map[string]string{"Allow": "GET, POST"}},
		"another path":                  {path: "/", code: 404, reason: "NotFound", message: "Not found"},
		"a path that goes on":           {path: path + "/more", code: 404, reason: "NotFound", message: "Not found"},
		"a path with a trailing slash":  {path: path + "/", code: 404, reason: "NotFound", message: "Not found"},
		"a path that could be cleaned":  {path: "/apis/../apis" + strings.TrimPrefix(path, "/apis"), code: 404, reason: "NotFound", message: "Not found"},
		"a doubled slash":               {path: "/" + path, code: 404, reason: "NotFound", message: "Not found"},
		"a name with an escaped slash":  {path: reportlink.Path("team", "a%2fb"), code: 404, reason: "NotFound", message: "Not found"},
		"a name no object can have":     {path: reportlink.Path("team", "UPPER"), code: 404, reason: "NotFound", message: "Not found"},
		"a body of 64 KiB and a byte":   {body: strings.Repeat(" ", 64<<10+1), code: 413, reason: "RequestEntityTooLarge", message: "Payload too large: the limit is 65536 bytes"},
		"a large body without a token": {
			body: strings.Repeat(" ", 1<<20), change: func(req *http.Request) { req.Header.Del("Authorization") },
			code: 413, reason: "RequestEntityTooLarge", message: "Payload too large: the limit is 65536 bytes",
		},
		"a large body in chunks": {
			change: func(req *http.Request) {
				req.Body, req.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat(" ", 64<<10+1))), -1
			},
			code: 413, reason: "RequestEntityTooLarge", message: "Payload too large: the limit is 65536 bytes",
		},
		"a compressed body": {
			change: func(req *http.Request) { req.Header.Set("Content-Encoding", "gzip") },
			code:   415, reason: "UnsupportedMediaType", message: "Compressed bodies are not accepted",
		},
		"a body that is no JSON": {
			body: "invalid payload", code: 422, reason: "Invalid", message: "Invalid payload: byte 0: this is no JSON value",
			causes: []reportapi.StatusCause{{Reason: new("FieldValueInvalid"), Message: new("byte 0: this is no JSON value")}},
		},
		"progress out of range": {
			body: `{"trainerStatus":{"progressPercentage":150}}`, code: 422, reason: "Invalid",
			message: `TrainJob.trainer.kubeflow.org "mnist" is invalid: trainerStatus.progressPercentage: 150 is outside 0 to 100`,
			causes: []reportapi.StatusCause{{
				Field: new("trainerStatus.progressPercentage"), Reason: new("FieldValueInvalid"), Message: new("150 is outside 0 to 100"),
			}},
		},
		"a final report that is not stored": {
			store: func(m *memory) {
				m.err = &report.Refusal{Err: report.ErrNotStored, Message: "the final report is not stored yet; send it again", RetryAfter: time.Second}
			},
			code: 503, reason: "ServiceUnavailable", message: "the final report is not stored yet; send it again",
			header: map[string]string{"Retry-After": "1"},
		},
		"a handler that panics": {
			store: func(m *memory) { m.panics = true }, code: 500, reason: "InternalError", message: "Internal Server Error",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			if tc.store != nil {
				tc.store(r.store)
			}
			if tc.method == "" {
				tc.method = http.MethodPost
			}
			if tc.path == "" {
				tc.path = path
			}
			if tc.body == "" {
				tc.body = goodBody
			}
			req := r.request(tc.method, tc.path, tc.body)
			if tc.change != nil {
				tc.change(req)
			}
			got := r.do(req)
			if got.code != tc.code || int(got.status.Code) != tc.code || got.status.Reason != tc.reason || got.status.Message != tc.message {
				t.Errorf("answer %d %+v, want %d %s %q", got.code, got.status, tc.code, tc.reason, tc.message)
			}
			if !strings.HasPrefix(got.body, `{"`) || !strings.HasSuffix(got.body, "}\n") || got.status.Status != reportapi.Failure || got.status.Metadata == nil {
				t.Errorf("body %q is not in the form of the Kubernetes API", got.body)
			}
			for header, want := range tc.header {
				if value := got.header.Get(header); value != want {
					t.Errorf("%s is %q, want %q", header, value, want)
				}
			}
			if tc.causes != nil {
				if diff := cmp.Diff(&tc.causes, got.status.Details.Causes); diff != "" {
					t.Errorf("causes (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestErrorExamplesAreWhatTheServerSays(t *testing.T) {
	job := report.JobKey{Namespace: "default", Name: "mnist"}
	invalid := report.Invalid{{Field: "trainerStatus.progressPercentage", Reason: reasonInvalid, Message: "150 is outside 0 to 100"}}
	_, syntax := decodeUpdate(`{"trainerSta`)
	cases := map[string]error{
		"error-401.json":          report.Refuse(report.ErrUnproven, "noToken", "a bearer token is required"),
		"error-403.json":          known["other"],
		"error-404.json":          known["unknown"],
		"error-405.json":          errMethod(http.MethodPut),
		"error-413.json":          errTooLarge(defaultBodyBytes),
		"error-415.json":          errCompressed,
		"error-422-progress.json": invalid,
		"error-422-json.json":     syntax,
		"error-429.json":          errTooMany("this pod sends more often than its share allows", 0),
		"error-500.json":          io.ErrUnexpectedEOF,
		"error-503.json":          &report.Refusal{Err: report.ErrNotStored, Message: "the final report is not stored yet; send it again"},
	}
	for file, err := range cases {
		t.Run(file, func(t *testing.T) {
			data, readErr := os.ReadFile(filepath.Join(examplesFolder, file))
			if readErr != nil {
				t.Fatal(readErr)
			}
			w := &capture{header: http.Header{}}
			if err := toAnswer(err, job).write(w); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(asMap(t, data), asMap(t, w.body.Bytes())); diff != "" {
				t.Errorf("answer (-example +server):\n%s", diff)
			}
		})
	}
}

// capture is a response that is only looked at.
type capture struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (c *capture) Header() http.Header         { return c.header }
func (c *capture) WriteHeader(code int)        { c.code = code }
func (c *capture) Write(b []byte) (int, error) { return c.body.Write(b) }

func asMap(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestLimits(t *testing.T) {
	t.Run("a pod over its share is told when to come again, before its body is read", func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Limits = Limits{PodRate: 0.1, PodBurst: 2} })
		for range 2 {
			if got := r.do(r.request(http.MethodPost, path, goodBody)); got.code != http.StatusOK {
				t.Fatalf("answer %d within the share", got.code)
			}
		}
		got := r.do(r.request(http.MethodPost, path, "not looked at"))
		if got.code != http.StatusTooManyRequests || got.header.Get("Retry-After") != "10" {
			t.Errorf("answer %d with Retry-After %q, want 429 with 10", got.code, got.header.Get("Retry-After"))
		}
	})
	t.Run("a full server turns requests away before it knows them", func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Limits.InFlight = 1 })
		r.store.block = make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() { r.do(r.request(http.MethodPost, path, goodBody)) })
		waitFor(t, func() bool { return r.do(r.request(http.MethodGet, path, "")).code == http.StatusTooManyRequests })
		close(r.store.block)
		wg.Wait()
		if got := r.do(r.request(http.MethodGet, path, "")); got.code != http.StatusOK {
			t.Errorf("answer %d when there is room again", got.code)
		}
	})
	t.Run("a header byte by byte ends with the connection", func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Limits.HeaderTimeout = 200 * time.Millisecond })
		r.dribble("POST "+path+" HTTP/1.1\r\nHost: x\r\nX: ", "a")
	})
	t.Run("a body byte by byte ends with the connection", func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Limits.BodyTimeout = 300 * time.Millisecond })
		r.dribble("POST "+path+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nContent-Length: 60000\r\n\r\n", " ")
	})
	t.Run("a body without end is cut at its limit", func(t *testing.T) {
		r := newRig(t, nil)
		conn := r.dial(r.ca.ClientConfig())
		defer conn.Close()
		go func() {
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nTransfer-Encoding: chunked\r\n\r\n", path)
			for {
				if _, err := fmt.Fprintf(conn, "1000\r\n%s\r\n", strings.Repeat(" ", 4096)); err != nil {
					return
				}
			}
		}()
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("reading the answer: %v", err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("answer %d, want 413", resp.StatusCode)
		}
	})
	t.Run("the longest waiting connection makes room for a new one", func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Limits.Connections = 2 })
		first, second := r.dial(r.ca.ClientConfig()), r.dial(r.ca.ClientConfig())
		defer first.Close()
		defer second.Close()
		third := r.dial(r.ca.ClientConfig())
		defer third.Close()
		if _, err := first.Read(make([]byte, 1)); err == nil {
			t.Error("the first connection is still open")
		}
		fmt.Fprintf(second, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n\r\n", path)
		if resp, err := http.ReadResponse(bufio.NewReader(second), nil); err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("the second connection gives %v, %v", resp, err)
		}
	})
}

func (r *rig) dial(config *tls.Config) *tls.Conn {
	r.t.Helper()
	conn, err := (&tls.Dialer{Config: config}).DialContext(r.t.Context(), "tcp", r.server.Address())
	if err != nil {
		r.t.Fatalf("dialling: %v", err)
	}
	return conn.(*tls.Conn)
}

// dribble sends the start and then a byte at a time until the server cuts the
// connection, which it must.
func (r *rig) dribble(start, drop string) {
	r.t.Helper()
	conn := r.dial(r.ca.ClientConfig())
	defer conn.Close()
	if _, err := io.WriteString(conn, start); err != nil {
		r.t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, conn)
		close(closed)
	}()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(5 * time.Second)
	for {
		select {
		case <-closed:
			return
		case <-tick.C:
			_, _ = io.WriteString(conn, drop)
		case <-limit:
			r.t.Fatal("the connection is still open")
		}
	}
}

func TestProtocols(t *testing.T) {
	cases := map[string]struct {
		server, client []string
		want           string
	}{
		"HTTP/1.1 unless asked":  {client: []string{"h2", "http/1.1"}, want: "HTTP/1.1"},
		"HTTP/2 when configured": {server: []string{"h2", "http/1.1"}, client: []string{"h2", "http/1.1"}, want: "HTTP/2.0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.TLS.NextProtos = tc.server })
			config := r.ca.ClientConfig()
			config.NextProtos = tc.client
			transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
			defer transport.CloseIdleConnections()
			resp, err := (&http.Client{Transport: transport}).Do(r.request(http.MethodGet, path, ""))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.Proto != tc.want || resp.StatusCode != http.StatusOK {
				t.Errorf("answer %d over %s, want 200 over %s", resp.StatusCode, resp.Proto, tc.want)
			}
		})
	}
	t.Run("TLS below the configured version is refused", func(t *testing.T) {
		r := newRig(t, nil)
		config := r.ca.ClientConfig()
		config.MinVersion, config.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		if _, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", r.server.Address()); err == nil {
			t.Error("TLS 1.1 is spoken")
		}
	})
}

func TestProbesFollowTheServer(t *testing.T) {
	probe, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, nil)
	for name, check := range map[string]func(*http.Request) error{"ready": r.server.ReadyCheck, "live": r.server.LiveCheck} {
		if err := check(probe); err != nil {
			t.Errorf("%s while serving: %v", name, err)
		}
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if err := r.server.ReadyCheck(probe); err == nil {
		t.Error("ready after the end")
	}
	fresh, err := New(Config{TLS: r.ca.ServerConfig()}, known, reportrules.New(clocktesting.NewFakePassiveClock(testNow)), r.store)
	if err != nil {
		t.Fatal(err)
	}
	if fresh.ReadyCheck(probe) == nil {
		t.Error("ready before the start")
	}
	if err := fresh.LiveCheck(probe); err != nil {
		t.Errorf("not alive before the start: %v", err)
	}
}

func TestStopWaitsForOpenRequests(t *testing.T) {
	r := newRig(t, nil)
	r.store.block = make(chan struct{})
	answered := make(chan int, 1)
	go func() { answered <- r.do(r.request(http.MethodPost, path, goodBody)).code }()
	waitFor(t, func() bool { return r.server.http.Handler.(*door).inFlight.Load() == 1 })
	stopped := make(chan error, 1)
	go func() { stopped <- r.stop() }()
	waitFor(t, r.server.leaving.Load)
	select {
	case <-stopped:
		t.Fatal("stopped with a request open")
	default:
	}
	close(r.store.block)
	if code := <-answered; code != http.StatusOK {
		t.Errorf("the open request is answered %d", code)
	}
	if err := <-stopped; err != nil {
		t.Errorf("stopping: %v", err)
	}
}

func TestStopIsBounded(t *testing.T) {
	r := newRig(t, func(c *Config) { c.DrainTimeout = 50 * time.Millisecond })
	r.store.block = make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		resp, err := r.client.Do(r.request(http.MethodPost, path, goodBody))
		if err == nil {
			resp.Body.Close()
		}
	})
	waitFor(t, func() bool { return r.server.http.Handler.(*door).inFlight.Load() == 1 })
	if err := r.stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	close(r.store.block)
	wg.Wait()
}

func TestPortInUseIsSaid(t *testing.T) {
	r := newRig(t, nil)
	second, err := New(Config{Address: r.server.Address(), TLS: r.ca.ServerConfig()}, known, reportrules.New(clocktesting.NewFakePassiveClock(testNow)), r.store)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("error %v, want one that names the port in use", err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	ca := localca.New(t)
	cases := map[string]Config{
		"no TLS":            {},
		"no certificate":    {TLS: &tls.Config{MinVersion: tls.VersionTLS12}},
		"address no number": {TLS: ca.ServerConfig(), Address: "10443"},
		"negative limit":    {TLS: ca.ServerConfig(), Limits: Limits{InFlight: -1}},
		"negative drain":    {TLS: ca.ServerConfig(), DrainTimeout: -1},
	}
	for name, cfg := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := New(cfg, known, nil, nil); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestBearerTokens(t *testing.T) {
	cases := map[string]string{
		"Bearer token": "token", "bearer token": "token", "BEARER token": "token", "Bearer \t token": "token", "  Bearer token  ": "token",
		"": "", "   ": "", "Bearer": "", "Bearer ": "", "token": "", "Basic dXNlcjpwYXNz": "", "Bearerx token": "", "Bearer token another": "",
	}
	for value, want := range cases {
		t.Run(fmt.Sprintf("%q", value), func(t *testing.T) {
			if got := bearerToken(value); got != want {
				t.Errorf("token %q, want %q", got, want)
			}
		})
	}
}

func FuzzBearer(f *testing.F) {
	for _, seed := range []string{"Bearer token", "bearer \t x", "Basic x", "Bearer", "\x00", "Bearer a\u00a0b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		token := bearerToken(value)
		if strings.ContainsAny(token, " \t") {
			t.Errorf("%q gives the token %q, which holds a blank", value, token)
		}
		// A plain reading with the library must agree on plain values.
		fields := strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == '\t' })
		want := ""
		if len(fields) == 2 && strings.EqualFold(fields[0], "bearer") {
			want = fields[1]
		}
		if token != want {
			t.Errorf("%q gives the token %q, want %q", value, token, want)
		}
	})
}

func TestAnswerIsTheJSONOfTheGeneratedType(t *testing.T) {
	cases := map[string]*report.Report{
		"nothing":   nil,
		"time only": {LastUpdatedTime: testNow},
		"everything": {
			ProgressPercentage: new(int32(0)), EstimatedRemainingSeconds: new(int32(2147483647)), LastUpdatedTime: testNow.In(time.FixedZone("", 3600)),
			Metrics: []report.Metric{{Name: "a\"\\\n\r\t\x00\x1f<>&", Value: "é😀\u2028\u2029\ufffd"}, {Name: "bad\xff", Value: "x"}},
		},
	}
	for name, rep := range cases {
		t.Run(name, func(t *testing.T) {
			var got reportapi.TrainJobStatusUpdate
			if err := json.Unmarshal(appendUpdate(nil, rep), &got); err != nil {
				t.Fatal(err)
			}
			var want reportapi.TrainJobStatusUpdate
			if rep != nil {
				utc := rep.LastUpdatedTime.UTC()
				want.TrainerStatus = &reportapi.TrainerStatus{
					ProgressPercentage: rep.ProgressPercentage, EstimatedRemainingSeconds: rep.EstimatedRemainingSeconds, LastUpdatedTime: &utc,
				}
				if rep.Metrics != nil {
					list := make([]reportapi.Metric, 0, len(rep.Metrics))
					for _, m := range rep.Metrics {
						list = append(list, reportapi.Metric{Name: strings.ToValidUTF8(m.Name, "\ufffd"), Value: m.Value})
					}
					want.TrainerStatus.Metrics = &list
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSharesRecoverAndAreForgotten(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(testNow)
	b := newBuckets(10, 2, clock)
	if b.take("a") != 0 || b.take("a") != 0 {
		t.Fatal("the burst is refused")
	}
	if wait := b.take("a"); wait != 100*time.Millisecond {
		t.Errorf("told to wait %v, want 100ms", wait)
	}
	if b.take("b") != 0 {
		t.Error("one pod pays for another")
	}
	clock.SetTime(testNow.Add(100 * time.Millisecond))
	if wait := b.take("a"); wait != 0 {
		t.Errorf("told to wait %v after the wait", wait)
	}
	clock.SetTime(testNow.Add(2 * sweepEvery))
	b.take("c")
	if len(b.held) != 1 {
		t.Errorf("%d shares are held, want only the one in use", len(b.held))
	}
}

func TestNamespaceIsHeldToItsShareOnlyWhileBusy(t *testing.T) {
	s := newShares(Limits{PodRate: 1e6, PodBurst: 1e6, NamespaceRate: 1, NamespaceBurst: 1}, clocktesting.NewFakePassiveClock(testNow))
	from := report.Sender{Job: report.JobKey{Namespace: "team"}, PodUID: "p"}
	for range 10 {
		if _, err := s.allow(from, false); err != nil {
			t.Fatalf("refused on a quiet server: %v", err)
		}
	}
	if limit, err := s.allow(from, true); err == nil || limit != "namespace" {
		t.Errorf("limit %q, error %v on a busy server; want the namespace's", limit, err)
	}
	other := report.Sender{Job: report.JobKey{Namespace: "other"}, PodUID: "q"}
	if _, err := s.allow(other, true); err != nil {
		t.Errorf("another namespace is refused: %v", err)
	}
}
