// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/milepost-dev/milepost/controller/internal/reportlink"
)

// doorCase is a request that never reaches a handler, or is no POST.
type doorCase struct {
	source    string
	method    string
	path      func(c *caller) string
	body      string
	change    func(*http.Request)
	code      int
	reason    string
	message   string
	header    map[string]string
	upstream  string
	onPurpose string
}

const (
	honestCode = "the code says what is wrong"
	neverWaste = "nobody inflates for strangers"
)

var doorCases = map[string]doorCase{
	"no token": {
		source: "design, 1", change: func(r *http.Request) { r.Header.Del("Authorization") },
		code: 401, reason: "Unauthorized", header: map[string]string{"WWW-Authenticate": `Bearer realm="trainjobs"`}, upstream: "403", onPurpose: honestCode,
	},
	"a token that is none":           {source: "D2", change: authorization("Bearer abc"), code: 401, reason: "Unauthorized", upstream: "403", onPurpose: honestCode},
	"another scheme":                 {source: "19", change: authorization("Basic dXNlcjpwYXNz"), code: 401, reason: "Unauthorized", upstream: "403", onPurpose: honestCode},
	"scheme without token":           {source: "18", change: authorization("Bearer"), code: 401, reason: "Unauthorized", upstream: "403", onPurpose: honestCode},
	"two tokens in one header":       {source: "22", change: suffix(" another"), code: 401, reason: "Unauthorized", upstream: "403", onPurpose: honestCode},
	"two Authorization headers":      {source: "hostile 16", change: func(r *http.Request) { r.Header.Add("Authorization", "Bearer x") }, code: 401, reason: "Unauthorized", upstream: "200, the first", onPurpose: "it is not said which one counts"},
	"a header of 10 kB":              {source: "hostile 15", change: authorization("Bearer " + strings.Repeat("x", 10<<10)), code: 401, reason: "Unauthorized", upstream: "403", onPurpose: honestCode},
	"a token in the query":           {source: "hostile 17", path: func(c *caller) string { return c.path() + "?access_token=" + c.token }, change: func(r *http.Request) { r.Header.Del("Authorization") }, code: 401, reason: "Unauthorized", upstream: "403", onPurpose: honestCode},
	"scheme in small letters":        {source: "13", change: prefix("bearer "), code: 200, upstream: "200"},
	"blanks around and between":      {source: "14, 15", change: prefix("  Bearer \t "), code: 200, upstream: "200"},
	"PUT":                            {source: "design, D1", method: http.MethodPut, code: 405, reason: "MethodNotAllowed", header: map[string]string{"Allow": "GET, POST"}, upstream: "404", onPurpose: honestCode},
	"PATCH":                          {source: "design, D1", method: http.MethodPatch, code: 405, reason: "MethodNotAllowed", header: map[string]string{"Allow": "GET, POST"}, upstream: "404", onPurpose: honestCode},
	"DELETE":                         {source: "design, D1", method: http.MethodDelete, code: 405, reason: "MethodNotAllowed", header: map[string]string{"Allow": "GET, POST"}, upstream: "404", onPurpose: honestCode},
	"GET":                            {source: "design, D1", method: http.MethodGet, code: 200, upstream: "404", onPurpose: "a restarted trainer can resume its bar"},
	"another path":                   {source: "D1", path: func(*caller) string { return "/healthz" }, code: 404, reason: "NotFound", message: "Not found", upstream: "404"},
	"a path that could be cleaned":   {source: "1.2", path: func(c *caller) string { return "/" + c.path() }, code: 404, reason: "NotFound", message: "Not found", upstream: "301", onPurpose: "clients take a redirect for a failure"},
	"1 MB with its length":           {source: "design, 3", body: strings.Repeat("x", 1<<20), code: 413, reason: "RequestEntityTooLarge", message: "Payload too large", upstream: "413"},
	"1 MB with its length, no token": {source: "3", body: strings.Repeat("x", 1<<20), change: func(r *http.Request) { r.Header.Del("Authorization") }, code: 413, reason: "RequestEntityTooLarge", upstream: "413"},
	"64 KiB and a byte in chunks":    {source: "design, D11", change: chunked(64<<10 + 1), code: 413, reason: "RequestEntityTooLarge", upstream: "422", onPurpose: honestCode},
	"64 KiB":                         {source: "design", body: `{"x":"` + strings.Repeat("y", 64<<10-8) + `"}`, code: 200, upstream: "200"},
	"a compressed body":              {source: "design", change: compressed, code: 415, reason: "UnsupportedMediaType", upstream: "422", onPurpose: neverWaste},
	"a form as content type":         {source: "1.2", body: `{}`, change: func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }, code: 200, upstream: "200"},
	"no content type":                {source: "1.2", body: `{}`, code: 200, upstream: "200"},
	"a job that does not exist":      {source: "10", path: func(c *caller) string { return reportlink.Path(c.kit.Namespace, "nobody") }, code: 403, reason: "Forbidden", upstream: "403"},
	"a body that is not looked at":   {source: "1", body: "invalid payload", change: authorization("Bearer abc"), code: 401, reason: "Unauthorized", upstream: "403", onPurpose: honestCode},
}

func authorization(value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", value) }
}

func prefix(scheme string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("Authorization", scheme+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	}
}

func suffix(more string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", r.Header.Get("Authorization")+more) }
}

func chunked(size int) func(*http.Request) {
	return func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat(" ", size))), -1
	}
}

func compressed(r *http.Request) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(`{}`))
	_ = w.Close()
	r.Body, r.ContentLength = io.NopCloser(&b), int64(b.Len())
	r.Header.Set("Content-Encoding", "gzip")
}

func (c *caller) path() string { return reportlink.Path(c.kit.Namespace, c.set.TrainJob.Name) }

func TestDoor(t *testing.T) {
	c := newCaller(t, "door")
	for _, name := range sortedNames(doorCases) {
		tc := doorCases[name]
		t.Run(name, func(t *testing.T) {
			c := &caller{bench: c.bench, t: t, set: c.set, pod: c.pod, token: c.token}
			path := c.path()
			if tc.path != nil {
				path = tc.path(c)
			}
			if tc.method == "" {
				tc.method = http.MethodPost
			}
			if tc.body == "" {
				tc.body = `{}`
			}
			req, err := http.NewRequestWithContext(t.Context(), tc.method, "https://"+c.manager.Address()+path, strings.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+c.token)
			if tc.change != nil {
				tc.change(req)
			}
			got := c.send(req)
			defer func() {
				shared.note(t, row{source: tc.source, name: name, upstream: tc.upstream, ours: fmt.Sprint(got.code), onPurpose: tc.onPurpose})
			}()
			checkDoor(t, tc, got)
			c.wantStored("none")
		})
	}
}

func checkDoor(t *testing.T, tc doorCase, got answer) {
	t.Helper()
	if got.code != tc.code || got.status.Reason != tc.reason || !strings.Contains(got.status.Message, tc.message) {
		t.Fatalf("answer %d %s, want %d %s %q", got.code, got.body, tc.code, tc.reason, tc.message)
	}
	if ct := got.header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("content type %q", ct)
	}
	if got.code != http.StatusOK && (!strings.HasPrefix(got.body, `{`) || !strings.HasSuffix(got.body, "}\n") || int(got.status.Code) != tc.code || got.status.Status != "Failure") {
		t.Errorf("body %q is not a Status of the Kubernetes API", got.body)
	}
	for name, want := range tc.header {
		if value := got.header.Get(name); value != want {
			t.Errorf("%s is %q, want %q", name, value, want)
		}
	}
}

func TestTransport(t *testing.T) {
	c := newCaller(t, "transport")
	cases := map[string]struct {
		source, upstream string
		change           func(*tls.Config)
		refused          bool
		proto            string
	}{
		"TLS 1.1":               {source: "hostile 24", upstream: "refused", change: func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }, refused: true},
		"TLS 1.2":               {source: "4.9", upstream: "served", change: func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, proto: ""},
		"TLS 1.3":               {source: "4.9", upstream: "served", change: func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 }, proto: ""},
		"HTTP/2 is not offered": {source: "4.9, design", upstream: "http/1.1", change: func(c *tls.Config) { c.NextProtos = []string{"h2", "http/1.1"} }, proto: "http/1.1"},
	}
	for _, name := range sortedNames(cases) {
		tc := cases[name]
		t.Run(name, func(t *testing.T) {
			config := c.tls.Clone()
			tc.change(config)
			conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", c.manager.Address())
			ours := "refused"
			if err == nil {
				ours = "served"
				defer conn.Close()
			}
			defer func() { shared.note(t, row{source: tc.source, name: name, upstream: tc.upstream, ours: ours}) }()
			if (err != nil) != tc.refused {
				t.Fatalf("shaking hands gives %v, want refused %v", err, tc.refused)
			}
			if err == nil && conn.(*tls.Conn).ConnectionState().NegotiatedProtocol != tc.proto {
				t.Errorf("protocol %q, want %q", conn.(*tls.Conn).ConnectionState().NegotiatedProtocol, tc.proto)
			}
		})
	}
}
