// SPDX-License-Identifier: Apache-2.0

package milepost

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"math/big"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/reporters/go/internal/hooks"
	"github.com/milepost-dev/milepost/reporters/go/internal/servertest"
)

// discard keeps lines out of the output of tests.
var discard = slog.New(slog.DiscardHandler)

// quickly makes seconds into hundredths.
var quickly = WithHooks(hooks.Hooks{TimeScale: 0.01, LimitScale: 0.2})

func TestCloseLeavesNoGoroutine(t *testing.T) {
	server := servertest.Start(t)
	m := Start()
	m.Report(Step(1, 10))
	server.Await(t, 1)
	m.Close()
	// Connections and the worker need a moment to end.
	end := time.Now().Add(5 * time.Second)
	for {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		left := strings.Count(string(stacks), "milepost.(*sender)") + strings.Count(string(stacks), "milepost.endBySignal") +
			strings.Count(string(stacks), "persistConn")
		if left == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("goroutines are left:\n%s", stacks)
		}
		runtime.Gosched()
	}
}

func TestOnNil(t *testing.T) {
	var m *Reporter
	m.Report(Step(1, 2))
	m.Complete()
	m.Fail(errors.New("x"))
	m.Close()
	if _, ok := m.Stored(t.Context()); ok || m.Active() {
		t.Error("a nil reporter is active")
	}
	for range Track(m, slices.Values([]int{1}), 1, nil) {
		continue
	}
}

func TestNilParts(t *testing.T) {
	server := servertest.Start(t)
	m := Start(nil)
	defer m.Close()
	m.Report(nil, Metric("loss", 1), Group("eval", nil), nil)
	if body := server.Await(t, 1); !strings.Contains(body, `[{"name":"loss","value":"1"}]`) {
		t.Errorf("got %s", body)
	}
}

func TestContextEndSendsTheLastReport(t *testing.T) {
	server := servertest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	m := Start(WithContext(ctx), WithInterval(time.Hour))
	defer m.Close()
	m.Report(Step(1, 10))
	server.Await(t, 1)
	m.Report(Step(7, 10))
	cancel()
	if body := server.Await(t, 2); !strings.Contains(body, `"progressPercentage":70`) {
		t.Errorf("got %s", body)
	}
	m.Report(Step(8, 10)) // the end of the context does not end the reporter
	m.Close()
	server.Await(t, 3)
}

func TestCloseWaitsForCompleteOfAnotherGoroutine(t *testing.T) {
	server := servertest.Start(t)
	arrived := make(chan struct{})
	release := make(chan struct{})
	server.Answer(func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-release
	})
	m := Start()
	completed := make(chan struct{})
	go func() {
		defer close(completed)
		m.Complete()
	}()
	<-arrived
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		m.Close()
	}()
	select {
	case <-closed:
		t.Error("Close returned before the report of Complete had arrived")
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	<-completed
	<-closed
}

func TestManyGoroutinesReportAndClose(t *testing.T) {
	server := servertest.Start(t)
	m := Start(quickly, WithInterval(0))
	var group sync.WaitGroup
	for worker := range 8 {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := range 200 {
				m.Report(Step(int64(i), 200), Metric("worker", worker))
			}
			if worker == 7 {
				m.Complete(Metric("loss", 0.5))
			}
		}()
	}
	group.Wait()
	m.Close()
	bodies := server.Bodies()
	if last := bodies[len(bodies)-1]; !strings.Contains(last, `"progressPercentage":100`) || !strings.Contains(last, "loss") {
		t.Errorf("the last report is %s", last)
	}
}

func TestTwoReportersDoNotMix(t *testing.T) {
	server := servertest.Start(t)
	one, two := Start(), Start()
	one.Report(Metric("one", 1))
	two.Report(Metric("two", 2))
	one.Close()
	two.Close()
	all := strings.Join(server.Bodies(), "\n")
	if !strings.Contains(all, "one") || !strings.Contains(all, "two") {
		t.Errorf("got %s", all)
	}
}

// nasty is a log handler and an error that panic.
type nasty struct{ slog.Handler }

func (nasty) Enabled(context.Context, slog.Level) bool { panic("no") }

func (nasty) Error() string { panic("no") }

func TestBrokenLoggerAndErrorDoNoHarm(t *testing.T) {
	t.Setenv(envURL, "")
	m := Start(WithLogger(slog.New(nasty{})))
	m.Report()
	servertest.Start(t)
	m = Start(WithLogger(slog.New(nasty{})))
	m.Report(Metric("a name that was never left out before", nil))
	m.Fail(nasty{})
}

func TestGoValues(t *testing.T) {
	type loss float64
	type epoch int8
	type phase string
	type done bool
	loop := map[string]any{}
	loop["again"] = loop
	for name, tc := range map[string]struct {
		value any
		want  string // empty when it is left out
	}{
		"a named float":              {loss(0.25), "0.25"},
		"a short float":              {float32(0.1), "0.1"},
		"a named whole number":       {epoch(-3), "-3"},
		"the largest whole number":   {uint64(math.MaxUint64), "18446744073709551615"},
		"a big whole number":         {new(big.Int).Lsh(big.NewInt(1), 100), "1267650600228229401496703205376"},
		"a whole number far too big": {new(big.Int).Lsh(big.NewInt(1), 100000), ""},
		"a nil big number":           {(*big.Int)(nil), ""},
		"named text":                 {phase("warm up"), "warm up"},
		"a named boolean":            {done(true), "1"},
		"text that is no UTF-8":      {"a\xffb", "a\ufffdb"},
		"nil":                        {nil, ""},
		"a pointer":                  {new(float64), ""},
		"a slice":                    {[]float64{1}, ""},
		"a function":                 {func() {}, ""},
		"a channel":                  {make(chan int), ""},
		"a complex number":           {complex(1, 2), ""},
		"a struct":                   {struct{ A int }{1}, ""},
		"a map that holds itself":    {loop, ""},
		"a map of numbers":           {map[int]int{1: 2}, ""},
		"a nil map":                  {map[string]int(nil), ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := collect([]Part{Metric("m", tc.value)})
			got := ""
			if len(c.metrics.items) > 0 {
				got = c.metrics.items[0].Value
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestMapThatHoldsItselfUnderTwoKeysEnds(t *testing.T) {
	loop := map[string]any{"loss": 1}
	loop["a"], loop["b"] = loop, loop
	twice := map[string]any{"x": 2}
	c := collect([]Part{Metrics{"loop": loop, "left": twice, "right": twice}})
	var names []string
	for _, m := range c.metrics.items {
		names = append(names, m.Name)
	}
	if got, want := strings.Join(names, " "), "left/x loop/loss right/x"; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
	if got, want := strings.Join(c.metrics.unfit, " "), "loop/a loop/b"; got != want {
		t.Errorf("left out %s, want %s", got, want)
	}
}

func TestMapsAreSorted(t *testing.T) {
	c := collect([]Part{Metrics{"b": 1, "a": map[string]float64{"y": 2, "x": 1}, "c": true}})
	var names []string
	for _, m := range c.metrics.items {
		names = append(names, m.Name)
	}
	if got := strings.Join(names, " "); got != "a/x a/y b c" {
		t.Errorf("got %s", got)
	}
}

func TestComputedProgressIsExact(t *testing.T) {
	for _, step := range []int64{0, 1, 2, 99, 1 << 20, math.MaxInt64 / 2, math.MaxInt64 - 1, math.MaxInt64} {
		for _, total := range []int64{1, 3, 100, 1 << 21, math.MaxInt64 - 1, math.MaxInt64} {
			percent := new(big.Int).Mul(big.NewInt(step), big.NewInt(100))
			percent.Div(percent, big.NewInt(total))
			want := int64(mostComputed)
			if percent.IsInt64() {
				want = min(percent.Int64(), mostComputed)
			}
			if got := computedProgress(step, total); int64(got) != want {
				t.Errorf("%d of %d is %d, want %d", step, total, got, want)
			}
		}
	}
}

func FuzzFormatFloat(f *testing.F) {
	for _, seed := range []float64{0, 1, -1.5, 1e-7, 1e21, 5e-324, math.MaxFloat64, math.Inf(1)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, number float64) {
		text := formatFloat(number, 64)
		back, err := strconv.ParseFloat(text, 64)
		if err != nil || back != number && !(math.IsNaN(back) && math.IsNaN(number)) {
			t.Errorf("%v is written as %q, which reads as %v, %v", number, text, back, err)
		}
		if len(text) > 25 && !strings.Contains(text, "e") {
			t.Errorf("%v is written as %q, which is longer than it has to be", number, text)
		}
	})
}

func TestOnceIsBounded(t *testing.T) {
	var o once
	for i := range 3 * remembered {
		o.first(strconv.Itoa(i))
	}
	if len(o.said) != remembered {
		t.Errorf("%d things are remembered, want %d", len(o.said), remembered)
	}
	if o.first("0") || o.first("new") {
		t.Error("something is said again, or after the bound")
	}
}

func TestTroubleSpeaksOnceAMinute(t *testing.T) {
	trouble := trouble{every: time.Minute}
	now := time.Now()
	var spoke []int
	for i := range 30 {
		if trouble.add(now.Add(time.Duration(i) * 5 * time.Second)) {
			spoke = append(spoke, i)
		}
	}
	if !slices.Equal(spoke, []int{0, 12, 24}) {
		t.Errorf("spoke at %v", spoke)
	}
	if trouble.end() != 30 || trouble.end() != 0 {
		t.Error("the count is wrong")
	}
	if !trouble.add(now) {
		t.Error("new trouble gets no line")
	}
}

func TestCut(t *testing.T) {
	for text, want := range map[string]string{"abc": "abc", "abcdef": "abcd", "é😀é😀é": "é😀é😀", "a\nb": "a b", "": ""} {
		if got := cut(text, 4); got != want {
			t.Errorf("cut %q is %q, want %q", text, got, want)
		}
	}
}

func BenchmarkReport(b *testing.B) {
	b.Setenv(envURL, "https://127.0.0.1:1/status")
	b.Setenv(envCACert, "/no/such/file")
	b.Setenv(envToken, "/no/such/file")
	m := Start(WithLogger(slog.New(slog.DiscardHandler)))
	b.ReportAllocs()
	for i := range b.N {
		m.Report(Step(int64(i), int64(b.N)), Metric("loss", 0.123), Metric("accuracy", 0.9))
	}
}
