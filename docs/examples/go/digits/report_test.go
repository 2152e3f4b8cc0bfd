// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// received is what one request carried.
type received struct {
	bearer string
	body   string
}

// startEndpoint starts a real HTTPS server, points the environment at it and returns the requests that arrive.
func startEndpoint(t *testing.T, answer func(attempt int64) int) <-chan received {
	t.Helper()
	requests := make(chan received, 100)
	var attempts atomic.Int64
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Errorf("decoding a report: %v", err)
		}
		w.WriteHeader(answer(attempts.Add(1)))
		requests <- received{bearer: r.Header.Get("Authorization"), body: string(body)}
	}))
	t.Cleanup(server.Close)

	dir := t.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	writeFile(t, filepath.Join(dir, "ca.crt"), string(ca))
	writeFile(t, filepath.Join(dir, "token"), "first\n")
	t.Setenv("KUBEFLOW_TRAINER_SERVER_URL", server.URL+"/status")
	t.Setenv("KUBEFLOW_TRAINER_SERVER_CA_CERT", filepath.Join(dir, "ca.crt"))
	t.Setenv("KUBEFLOW_TRAINER_SERVER_TOKEN", filepath.Join(dir, "token"))
	return requests
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func alwaysOK(int64) int { return http.StatusOK }

// lines collects what the reporter logs.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) logf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, fmt.Sprintf(format, args...))
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}

func TestReporterSendsTheFirstReportAtOnceAndTheLastBeforeClose(t *testing.T) {
	requests := startEndpoint(t, alwaysOK)
	var log lines
	r := startReporter(time.Hour, log.logf)

	r.report(report{ProgressPercentage: new(0)})
	if got := <-requests; got.bearer != "Bearer first" || !strings.Contains(got.body, `{"trainerStatus":{"progressPercentage":0,`) {
		t.Errorf("first request = %+v", got)
	}
	r.report(report{ProgressPercentage: new(40)})
	r.report(report{ProgressPercentage: new(100), EstimatedRemainingSeconds: new(0), Metrics: []metric{{Name: "loss", Value: "0.1"}}})
	r.close()
	got := <-requests
	if want := `"progressPercentage":100,"estimatedRemainingSeconds":0,"metrics":[{"name":"loss","value":"0.1"}]`; !strings.Contains(got.body, want) {
		t.Errorf("last request = %s, want %s", got.body, want)
	}
	if len(requests) != 0 {
		t.Errorf("%d more requests, want that the older report was dropped", len(requests))
	}
	if log.text() != "" {
		t.Errorf("logged %q, want nothing", log.text())
	}
}

func TestReporterReadsTheTokenForEveryReport(t *testing.T) {
	requests := startEndpoint(t, alwaysOK)
	r := startReporter(time.Millisecond, t.Logf)
	r.report(report{})
	<-requests
	writeFile(t, os.Getenv("KUBEFLOW_TRAINER_SERVER_TOKEN"), "second\n")
	r.report(report{})
	if got := <-requests; got.bearer != "Bearer second" {
		t.Errorf("sent %q after the token was replaced", got.bearer)
	}
	r.close()
}

func TestReporterTriesAgainAndLogsTheFirstFailureOnly(t *testing.T) {
	requests := startEndpoint(t, func(attempt int64) int {
		if attempt < 4 {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	var log lines
	r := startReporter(time.Millisecond, log.logf)
	r.report(report{ProgressPercentage: new(7)})
	for range 4 {
		if got := <-requests; !strings.Contains(got.body, `"progressPercentage":7`) {
			t.Errorf("sent %s", got.body)
		}
	}
	r.close()
	if got := log.text(); strings.Count(got, "training goes on") != 1 || !strings.Contains(got, "503") {
		t.Errorf("logged %q, want the first failure alone", got)
	}
}

func TestReporterNeverSendsWithoutTheCA(t *testing.T) {
	requests := startEndpoint(t, alwaysOK)
	t.Setenv("KUBEFLOW_TRAINER_SERVER_CA_CERT", filepath.Join(t.TempDir(), "absent"))
	var log lines
	r := startReporter(time.Millisecond, log.logf)
	r.report(report{})
	r.close()
	if len(requests) != 0 || !strings.Contains(log.text(), "reading the CA") {
		t.Errorf("%d requests, log %q", len(requests), log.text())
	}
}

func TestReporterOfADeadEndpointReturnsAtOnce(t *testing.T) {
	startEndpoint(t, alwaysOK)
	t.Setenv("KUBEFLOW_TRAINER_SERVER_URL", "https://127.0.0.1:1/status")
	r := startReporter(time.Hour, t.Logf)
	began := time.Now()
	for range 1000 {
		r.report(report{})
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("1000 reports took %s", took)
	}
	r.close()
}

func TestOutsideATrainJobNothingHappens(t *testing.T) {
	t.Setenv("KUBEFLOW_TRAINER_SERVER_URL", "")
	var log lines
	r := startReporter(time.Second, log.logf)
	r.report(report{})
	r.close()
	if got := log.text(); strings.Count(got, "progress is not reported") != 1 {
		t.Errorf("logged %q, want one line", got)
	}
}
