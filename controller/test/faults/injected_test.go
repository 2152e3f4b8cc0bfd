// SPDX-License-Identifier: Apache-2.0

//go:build unix

package faults

import (
	"net/http"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
)

// The budget of the manager under test: small, so that a breach shows.
const (
	budgetQPS   = 40
	budgetBurst = 40
)

// injectedCases are what the API server answers every status write with.
var injectedCases = map[string]struct {
	code       int
	retryAfter string
}{
	"429 with Retry-After": {code: http.StatusTooManyRequests, retryAfter: "1"},
	"409":                  {code: http.StatusConflict},
	"410":                  {code: http.StatusGone},
	"500":                  {code: http.StatusInternalServerError},
	"504":                  {code: http.StatusGatewayTimeout},
}

func TestAPIServerAnswersInjectedErrors(t *testing.T) {
	s := require(t)
	proxy := newInjector(t, s.plane.Config)
	m := s.manager(t, proxy.config, livemanager.Options{QPS: budgetQPS, Burst: budgetBurst})
	f := launch(t, plan{jobs: s.jobs, client: newClients(t, m), address: m.Address()})
	for name, tc := range injectedCases {
		t.Run(name, func(t *testing.T) {
			rate := f.flow(t)
			stopWatch := s.watchFinals(t, s.jobs)
			mark, writes, begun := f.mark(), proxy.count(statusWrites), time.Now()
			proxy.answerWith(func(r *http.Request) (int, string) {
				if isStatusWrite(r) {
					return tc.code, tc.retryAfter
				}
				return 0, ""
			})
			during(t, scale(2*time.Second, time.Minute))
			meanwhile := f.since(mark)
			proxy.answerWith(nil)
			took := s.wantStored(t, scale[time.Duration](3, 1)*storedWithin, ackedReports(s.jobs))
			tried, passed := proxy.count(statusWrites)-writes, time.Since(begun)
			reads := stopWatch()
			if most := budgetBurst + int(budgetQPS*passed.Seconds()) + 1; tried > most {
				t.Errorf("%d status writes in %s, the budget allows %d", tried, passed, most)
			}
			if tried == 0 || reads == 0 {
				t.Errorf("void: %d status writes and %d reads during the fault", tried, reads)
			}
			if refused := failed(others(meanwhile)); len(refused) > 0 {
				t.Errorf("%d reports were refused: %s", len(refused), describe(refused))
			}
			s.note(t, "under %.0f reports/s; %d status writes in %s, budget kept; newest of %d jobs stored %s after it ended, no acknowledged final lost",
				rate, tried, passed.Round(time.Second), jobCount, took.Round(time.Millisecond))
		})
	}
}
