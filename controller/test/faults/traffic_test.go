// SPDX-License-Identifier: Apache-2.0

//go:build unix

package faults

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/reportlink"
	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
)

const (
	// offered is what cases send per second.
	offered = 200
	// finalEvery makes every so manieth report of a job a final one.
	finalEvery = 10
	// clientTimeout is that of published clients.
	clientTimeout = 5 * time.Second
	warmUp        = time.Second
)

// minRate is the number of accepted reports per second that must come in before a
// fault. Under the race detector it is the races that count.
var minRate = detected(100.0, 20.0)

// detected chooses what holds under the race detector, which makes programs many
// times slower.
func detected[T any](without, with T) T {
	if livemanager.RaceDetector {
		return with
	}
	return without
}

// errNone says that what is waited for has not been seen yet.
var errNone = errors.New("none yet")

// sent is one report with the answers to it.
type sent struct {
	at       time.Time
	took     time.Duration
	final    bool
	attempts int
	// code is that of the last answer, 0 when there was none.
	code       int
	retryAfter string
	err        error
}

// sender sends the reports of a job over a connection of its own.
type sender struct {
	job    *job
	client *http.Client
	url    string
	finals bool
	// retries is how often a report is sent again that was not answered by 200.
	retries int
}

// fleet is many senders.
type fleet struct {
	senders []*sender
	cancel  context.CancelFunc
	wg      sync.WaitGroup

	mu      sync.Mutex
	history []sent
}

// plan says who sends what in a fleet.
type plan struct {
	jobs []*job
	// perJob is the number of senders of a job; 0 means 1.
	perJob int
	// rate is in reports per second over all; 0 means offered.
	rate float64
	// client makes the HTTP client of a sender.
	client  func() *http.Client
	address string
	retries int
	// withoutFinals leaves final reports out.
	withoutFinals bool
}

// launch starts a fleet that sends until it is stopped, at the latest at the end
// of the test.
func launch(t *testing.T, p plan) *fleet {
	t.Helper()
	p.perJob = max(p.perJob, 1)
	if p.rate == 0 {
		p.rate = offered
	}
	f := &fleet{}
	for i := range p.perJob * len(p.jobs) {
		j := p.jobs[i%len(p.jobs)]
		f.senders = append(f.senders, &sender{
			job: j, client: p.client(), finals: !p.withoutFinals, retries: p.retries,
			url: "https://" + p.address + reportlink.Path(namespace, j.name),
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	f.cancel = cancel
	pause := time.Duration(float64(len(f.senders)) / p.rate * float64(time.Second))
	for i, s := range f.senders {
		// Spread over the pause, so that they do not come in waves.
		offset := pause * time.Duration(i) / time.Duration(len(f.senders))
		f.wg.Go(func() { f.send(ctx, s, offset, pause) })
	}
	t.Cleanup(f.stop)
	return f
}

// stop ends the traffic and returns when every answer is there.
func (f *fleet) stop() {
	f.cancel()
	f.wg.Wait()
	for _, s := range f.senders {
		s.client.CloseIdleConnections()
	}
}

func (f *fleet) send(ctx context.Context, s *sender, offset, pause time.Duration) {
	first := time.NewTimer(offset)
	defer first.Stop()
	select {
	case <-first.C:
	case <-ctx.Done():
		return
	}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for ctx.Err() == nil {
		f.note(s.report(ctx))
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (f *fleet) note(r sent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.history = append(f.history, r)
}

// report sends one report, again when it is not taken.
func (s *sender) report(ctx context.Context) sent {
	number, final, body := s.job.next(s.finals)
	out := sent{at: time.Now(), final: final}
	for out.attempts <= s.retries {
		out.attempts++
		// The end of the traffic does not cut a report off: its answer counts.
		var header http.Header
		out.code, header, out.err = post(context.WithoutCancel(ctx), s.client, s.url, s.job.token, body)
		out.retryAfter = header.Get("Retry-After")
		if out.code != http.StatusOK {
			continue
		}
		s.job.accepted(number, final, strings.Contains(header.Get("Warning"), "superseded"))
		break
	}
	out.took = time.Since(out.at)
	return out
}

func post(ctx context.Context, c *http.Client, url, token, body string) (code int, header http.Header, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil, err
	}
	if resp.StatusCode != http.StatusOK {
		err = errors.New(string(text))
	}
	return resp.StatusCode, resp.Header, err
}

// newClients returns a maker of clients that trust a manager.
func newClients(t *testing.T, m *livemanager.Manager) func() *http.Client {
	t.Helper()
	trust, err := m.TLS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return clientsWith(trust)
}

func clientsWith(trust *tls.Config) func() *http.Client {
	return func() *http.Client {
		return &http.Client{Timeout: clientTimeout, Transport: &http.Transport{TLSClientConfig: trust, MaxIdleConnsPerHost: 16}}
	}
}

// mark is the end of the history so far.
func (f *fleet) mark() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.history)
}

// since returns a part of the history.
func (f *fleet) since(mark int) []sent {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.history[mark:])
}

// flow fails the test as void unless enough reports are accepted before the
// fault, by this fleet and those beside it. It returns their rate per second.
func (f *fleet) flow(t *testing.T, beside ...*fleet) float64 {
	t.Helper()
	all := append([]*fleet{f}, beside...)
	marks := make([]int, len(all))
	for _, f := range all {
		// The first answers may take longer: caches fill and connections are made.
		eventually(t, patience, "first reports", func() error {
			if list := f.since(0); len(accepted(list)) < len(f.senders) {
				return fmt.Errorf("%s", describe(list))
			}
			return nil
		})
	}
	for i, f := range all {
		marks[i] = f.mark()
	}
	begun := time.Now()
	during(t, warmUp)
	passed, count := time.Since(begun).Seconds(), 0
	for i, f := range all {
		count += len(accepted(f.since(marks[i])))
	}
	rate := float64(count) / passed
	if rate < minRate {
		t.Fatalf("void: only %.0f reports/s were accepted before the fault, of the %.0f that there must be", rate, minRate)
	}
	shared.sawFlow(t.Name(), rate)
	return rate
}

// where returns the reports that meet a condition.
func where(list []sent, keep func(sent) bool) []sent {
	return slices.DeleteFunc(slices.Clone(list), func(r sent) bool { return !keep(r) })
}

func accepted(list []sent) []sent {
	return where(list, func(r sent) bool { return r.code == http.StatusOK })
}

func finals(list []sent) []sent { return where(list, func(r sent) bool { return r.final }) }

func others(list []sent) []sent { return where(list, func(r sent) bool { return !r.final }) }

// failed returns those that were not answered with 200.
func failed(list []sent) []sent {
	return where(list, func(r sent) bool { return r.code != http.StatusOK })
}

// p99 is the time within which 99 of 100 were answered.
func p99(list []sent) time.Duration {
	if len(list) == 0 {
		return 0
	}
	times := make([]time.Duration, 0, len(list))
	for _, r := range list {
		times = append(times, r.took)
	}
	slices.Sort(times)
	return times[(len(times)-1)*99/100]
}

// describe counts the answers for a message.
func describe(list []sent) string {
	counts := map[string]int{}
	for _, r := range list {
		text := fmt.Sprint(r.code)
		if r.err != nil {
			text += " " + r.err.Error()
		}
		counts[text[:min(len(text), 160)]]++
	}
	return fmt.Sprint(counts)
}
