// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/milepost-dev/milepost/controller/internal/report"
	"github.com/milepost-dev/milepost/controller/internal/reportapi"
	"github.com/milepost-dev/milepost/controller/internal/reportlink"
)

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

func (c *capture) Header() http.Header { return c.header }

func (c *capture) WriteHeader(code int) { c.code = code }

func (c *capture) Write(b []byte) (int, error) { return c.body.Write(b) }

func asMap(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
