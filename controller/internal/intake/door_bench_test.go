// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/milepost-dev/milepost/controller/internal/reportrules"
	"github.com/milepost-dev/milepost/controller/internal/testkit/localca"
)

const benchBody = `{"trainerStatus":{"lastUpdatedTime":"2026-06-12T02:59:58.197448+00:00","progressPercentage":45,"estimatedRemainingSeconds":120,"metrics":[{"name":"loss","value":"0.15"},{"name":"accuracy","value":"0.92"},{"name":"learning_rate","value":"1e-05"},{"name":"epoch","value":"3.2"},{"name":"grad_norm","value":"1.25"},{"name":"current_step","value":"1200"}]}}`

// BenchmarkDoor is what a report costs beyond the connection.
func BenchmarkDoor(b *testing.B) {
	clock := clocktesting.NewFakePassiveClock(testNow)
	s, err := New(Config{TLS: localca.New(b).ServerConfig(), Clock: clock, Limits: Limits{PodRate: 1e9, PodBurst: 1e9}}, known, reportrules.New(clock), &memory{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		req := httptest.NewRequestWithContext(b.Context(), http.MethodPost, path, io.NopCloser(strings.NewReader(benchBody)))
		req.Header.Set("Authorization", "Bearer good")
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, req)
		if w.Code != http.StatusOK {
			b.Fatalf("answer %d %s", w.Code, w.Body)
		}
	}
}
