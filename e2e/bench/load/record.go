// SPDX-License-Identifier: Apache-2.0

package load

import (
	"strconv"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Latency is a distribution in milliseconds.
type Latency struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// histogram counts durations from a microsecond to two minutes with three digits.
type histogram struct{ counts *hdrhistogram.Histogram }

func newHistogram() histogram {
	return histogram{hdrhistogram.New(1, (2 * time.Minute).Microseconds(), 3)}
}

func (h histogram) record(d time.Duration) {
	// Values are clamped into the range, so that the only error RecordValue knows cannot occur.
	_ = h.counts.RecordValue(min(max(d.Microseconds(), 1), (2 * time.Minute).Microseconds()))
}

func (h histogram) latency() Latency {
	at := func(q float64) float64 { return float64(h.counts.ValueAtPercentile(q)) / 1000 }
	return Latency{P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: float64(h.counts.Max()) / 1000}
}

// tally is what has been counted for one group. It may be used from several goroutines.
type tally struct {
	mu       sync.Mutex
	due      int64
	accepted int64
	finals   int64
	retried  int64
	warned   int64
	codes    map[int]int64
	errors   map[string]int64
	latency  histogram // of accepted reports, from due to answered
	refusal  histogram // of answers other than 200
	final    histogram // of accepted final reports
}

func newTally() *tally {
	return &tally{
		codes: map[int]int64{}, errors: map[string]int64{},
		latency: newHistogram(), refusal: newHistogram(), final: newHistogram(),
	}
}

// verdict is the end of one report, after all its tries.
type verdict struct {
	took    time.Duration
	answers []answer // at least one unless err is set
	err     error
	final   bool
}

func (v *verdict) accepted() bool {
	return v.err == nil && len(v.answers) > 0 && v.answers[len(v.answers)-1].code == 200
}

func (t *tally) add(v *verdict) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.due++
	for i, a := range v.answers {
		t.codes[a.code]++
		if a.warned {
			t.warned++
		}
		if i > 0 {
			t.retried++
		}
	}
	if v.err != nil {
		t.errors[kindOf(v.err)]++
		return
	}
	if !v.accepted() {
		t.refusal.record(v.took)
		return
	}
	t.accepted++
	t.latency.record(v.took)
	if v.final {
		t.finals++
		t.final.record(v.took)
	}
}

// GroupOutcome is what became of the reports of one group.
type GroupOutcome struct {
	Name     string           `json:"name"`
	Due      int64            `json:"due"`      // reports whose moment came
	Accepted int64            `json:"accepted"` // answered with 200, retries included
	Finals   int64            `json:"finals"`   // accepted with progress 100
	Retried  int64            `json:"retried"`  // sent again after a Retry-After
	Warned   int64            `json:"warned"`   // answers with a Warning header
	Codes    map[string]int64 `json:"codes"`    // answers by status code
	Errors   map[string]int64 `json:"errors"`   // reports without an answer, by kind
	Seconds  float64          `json:"seconds"`  // measured time
	Latency  Latency          `json:"latencyMs"`
	Refusal  Latency          `json:"refusalLatencyMs"`
	Final    Latency          `json:"finalLatencyMs"`
}

// Rate is the accepted reports per second.
func (g *GroupOutcome) Rate() float64 { return float64(g.Accepted) / g.Seconds }

// Share is the part of the due reports that was accepted, 0 to 1.
func (g *GroupOutcome) Share() float64 {
	if g.Due == 0 {
		return 0
	}
	return float64(g.Accepted) / float64(g.Due)
}

// outcome adds up the tallies of a group.
func outcome(name string, measured time.Duration, tallies []*tally) GroupOutcome {
	sum := newTally()
	for _, t := range tallies {
		sum.merge(t)
	}
	g := GroupOutcome{
		Name: name, Due: sum.due, Accepted: sum.accepted, Finals: sum.finals, Retried: sum.retried,
		Warned: sum.warned, Codes: map[string]int64{}, Errors: sum.errors, Seconds: measured.Seconds(),
		Latency: sum.latency.latency(), Refusal: sum.refusal.latency(), Final: sum.final.latency(),
	}
	for code, n := range sum.codes {
		g.Codes[strconv.Itoa(code)] = n
	}
	return g
}

func (t *tally) merge(other *tally) {
	other.mu.Lock()
	defer other.mu.Unlock()
	t.due += other.due
	t.accepted += other.accepted
	t.finals += other.finals
	t.retried += other.retried
	t.warned += other.warned
	for code, n := range other.codes {
		t.codes[code] += n
	}
	for kind, n := range other.errors {
		t.errors[kind] += n
	}
	t.latency.counts.Merge(other.latency.counts)
	t.refusal.counts.Merge(other.refusal.counts)
	t.final.counts.Merge(other.final.counts)
}
