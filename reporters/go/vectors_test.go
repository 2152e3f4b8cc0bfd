// SPDX-License-Identifier: Apache-2.0

package milepost

import (
	"encoding/json"
	"math"
	"math/big"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/reporters/go/internal/wire"
)

// rows reads the tables of one kind from openapi/vectors and runs a test for each row.
func rows[T any](t *testing.T, kind string, check func(t *testing.T, row T)) {
	t.Helper()
	text, err := os.ReadFile("../../openapi/vectors/tables.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Tables []struct {
			Table string            `json:"table"`
			Rows  []json.RawMessage `json:"rows"`
		} `json:"tables"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, table := range document.Tables {
		if table.Table != kind {
			continue
		}
		for _, raw := range table.Rows {
			var head struct {
				Name  string   `json:"name"`
				Needs []string `json:"needs"`
			}
			var row T
			if err := json.Unmarshal(raw, &head); err != nil {
				t.Fatal(err)
			}
			if len(head.Needs) > 0 && head.Needs[0] == "items" {
				continue // values of Go have no such method
			}
			if err := json.Unmarshal(raw, &row); err != nil {
				t.Fatalf("reading row %q: %v", head.Name, err)
			}
			found = true
			t.Run(head.Name, func(t *testing.T) { check(t, row) })
		}
	}
	if !found {
		t.Fatalf("there is no table %s", kind)
	}
}

// number is a JSON number or {"$float":"…"}.
type number float64

func (n *number) UnmarshalJSON(text []byte) error {
	var special struct {
		Float string `json:"$float"`
	}
	if json.Unmarshal(text, &special) == nil && special.Float != "" {
		f, err := strconv.ParseFloat(special.Float, 64)
		*n = number(f)
		return err
	}
	return json.Unmarshal(text, (*float64)(n))
}

// value is the value of a metric as the tables write it.
type value struct{ any }

func (v *value) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	if err := decoder.Decode(&v.any); err != nil {
		return err
	}
	v.any = goValue(v.any)
	return nil
}

func goValue(decoded any) any {
	switch d := decoded.(type) {
	case json.Number:
		if i, err := d.Int64(); err == nil {
			return i
		}
		f, _ := d.Float64()
		return f
	case map[string]any:
		if text, ok := d["$float"].(string); ok {
			f, _ := strconv.ParseFloat(text, 64)
			return f
		}
		if text, ok := d["$int"].(string); ok {
			i, _ := new(big.Int).SetString(text, 10)
			return i
		}
		if d["$opaque"] != nil {
			return struct{}{}
		}
		for name, item := range d {
			d[name] = goValue(item)
		}
	}
	return decoded
}

func TestValues(t *testing.T) {
	type row struct {
		Value value   `json:"value"`
		Want  *string `json:"want"`
	}
	rows(t, "values", func(t *testing.T, row row) {
		var list metricList
		list.add("m", row.Value.any)
		switch {
		case row.Want == nil && len(list.items) > 0:
			t.Errorf("got %q, want it left out", list.items[0].Value)
		case row.Want == nil && len(list.unfit) != 1:
			t.Errorf("the name is not noted: %v", list.unfit)
		case row.Want != nil && len(list.items) != 1:
			t.Errorf("left out, want %q", *row.Want)
		case row.Want != nil && list.items[0].Value != *row.Want:
			t.Errorf("got %q, want %q", list.items[0].Value, *row.Want)
		}
	})
}

// reportRow is a report in a table.
type reportRow struct {
	At         float64 `json:"at"`
	Step       *int64  `json:"step"`
	TotalSteps *int64  `json:"totalSteps"`
	Progress   *number `json:"progress"`
	ETA        *number `json:"eta"`
}

// call is the row as a Go program can say it.
func (r reportRow) call() (c call) {
	if r.Step != nil {
		total := int64(0)
		if r.TotalSteps != nil {
			total = *r.TotalSteps
		}
		Step(*r.Step, total).addTo(&c)
	}
	if r.Progress != nil {
		Percent(float64(*r.Progress)).addTo(&c)
	}
	if r.ETA != nil && !math.IsNaN(float64(*r.ETA)) && *r.ETA < 1e18 { // durations are neither infinite nor NaN
		Remaining(time.Duration(max(float64(*r.ETA), -1) * float64(time.Second))).addTo(&c)
	}
	return c
}

func TestProgress(t *testing.T) {
	type row struct {
		reportRow
		Want struct {
			Progress *int32 `json:"progress"`
			ETA      *int32 `json:"eta"`
		} `json:"want"`
	}
	rows(t, "progress", func(t *testing.T, row row) {
		r := &Reporter{clock: func() time.Duration { return 0 }}
		progress, remaining := r.numbers(row.call())
		compare(t, "progress", progress, row.Want.Progress)
		compare(t, "time remaining", remaining, row.Want.ETA)
	})
}

func TestRemaining(t *testing.T) {
	type row struct {
		Reports []struct {
			reportRow
			Want *int32 `json:"want"`
		} `json:"reports"`
	}
	rows(t, "eta", func(t *testing.T, row row) {
		var now time.Duration
		r := &Reporter{clock: func() time.Duration { return now }}
		for _, report := range row.Reports {
			now = time.Duration(report.At * float64(time.Second))
			_, remaining := r.numbers(report.call())
			compare(t, "time remaining", remaining, report.Want)
		}
	})
}

func compare(t *testing.T, what string, got, want *int32) {
	t.Helper()
	switch {
	case got == nil && want != nil:
		t.Errorf("%s is unknown, want %d", what, *want)
	case got != nil && want == nil:
		t.Errorf("%s is %d, want it unknown", what, *got)
	case got != nil && *got != *want:
		t.Errorf("%s is %d, want %d", what, *got, *want)
	}
}

func TestMetricLists(t *testing.T) {
	type row struct {
		Metrics json.RawMessage `json:"metrics"`
		Keep    []string        `json:"keep"`
		Want    [][2]string     `json:"want"`
	}
	rows(t, "metrics", func(t *testing.T, row row) {
		var list metricList
		addInOrder(t, &list, row.Metrics)
		got := selectMetrics(list.items, row.Keep)
		if len(got) != len(row.Want) {
			t.Fatalf("got %d metrics, want %d: %v", len(got), len(row.Want), got)
		}
		for i, want := range row.Want {
			if (got[i] != wire.Metric{Name: want[0], Value: want[1]}) {
				t.Errorf("metric %d is %v, want %v", i, got[i], want)
			}
		}
	})
}

// addInOrder adds the members of a JSON object in their order.
func addInOrder(t *testing.T, list *metricList, object json.RawMessage) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(object)))
	if _, err := decoder.Token(); err != nil {
		t.Fatal(err)
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			t.Fatal(err)
		}
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			t.Fatal(err)
		}
		if raw[0] == '{' { // a nested map; its order is that of a group
			inner := metricList{items: list.items, unfit: list.unfit, prefix: list.prefix + name.(string) + "/"}
			addInOrder(t, &inner, raw)
			list.items, list.unfit = inner.items, inner.unfit
			continue
		}
		var v value
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		list.add(name.(string), v.any)
	}
}

func TestRank(t *testing.T) {
	type row struct {
		Environment map[string]string `json:"environment"`
		Option      *int              `json:"option"`
		Want        bool              `json:"want"`
	}
	rows(t, "rank", func(t *testing.T, row row) {
		why := otherRank(func(name string) string { return row.Environment[name] }, row.Option)
		if reports := why == ""; reports != row.Want {
			t.Errorf("reports: %v (%s), want %v", reports, why, row.Want)
		}
		if why != "" && !strings.Contains(why, "rank") {
			t.Errorf("the line %q does not speak of a rank", why)
		}
	})
}

func TestActive(t *testing.T) {
	type row struct {
		Environment map[string]*string `json:"environment"`
		Want        struct {
			Active bool     `json:"active"`
			Line   []string `json:"line"`
		} `json:"want"`
	}
	rows(t, "active", func(t *testing.T, row row) {
		environment := map[string]string{envURL: "https://h:1/p", envCACert: "/ca", envToken: "/token"}
		for name, value := range row.Environment {
			delete(environment, name)
			if value != nil {
				environment[name] = *value
			}
		}
		_, problems := readEnvironment(func(name string) string { return environment[name] })
		if active := problems == ""; active != row.Want.Active {
			t.Errorf("active: %v (%s), want %v", active, problems, row.Want.Active)
		}
		for _, word := range row.Want.Line {
			if !strings.Contains(problems, word) {
				t.Errorf("the line %q does not name %s", problems, word)
			}
		}
	})
}

func TestBackoff(t *testing.T) {
	type row struct {
		Failures int `json:"failures"`
		Want     struct {
			Min float64 `json:"min"`
			Max float64 `json:"max"`
		} `json:"want"`
	}
	rows(t, "backoff", func(t *testing.T, row row) {
		least, most := time.Hour, time.Duration(0)
		end := time.Now()
		for range 500 {
			p := pacing{failures: row.Failures - 1, scale: func(d time.Duration) time.Duration { return d }}
			p.failed(end, 0)
			least, most = min(least, p.backoff.Sub(end)), max(most, p.backoff.Sub(end))
		}
		if least.Seconds() < row.Want.Min || most.Seconds() > row.Want.Max {
			t.Errorf("waits lie between %v and %v, want %v s to %v s", least, most, row.Want.Min, row.Want.Max)
		}
		if spread := (most - least).Seconds(); spread < (row.Want.Max-row.Want.Min)/2 {
			t.Errorf("waits lie between %v and %v, which is hardly random", least, most)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	type row struct {
		Header string   `json:"header"`
		Want   *float64 `json:"want"`
	}
	now := time.Date(2026, 6, 12, 3, 0, 0, 0, time.UTC)
	rows(t, "retry-after", func(t *testing.T, row row) {
		got, ok := retryAfter(row.Header, now)
		if ok != (row.Want != nil) || ok && got.Seconds() != *row.Want {
			t.Errorf("got %v, %v", got, ok)
		}
	})
}

func TestStatuses(t *testing.T) {
	type row struct {
		Status int    `json:"status"`
		Want   string `json:"want"`
	}
	want := map[string]outcome{"success": taken, "retry": failed, "reauthenticate": failed, "refuse": refused}
	rows(t, "statuses", func(t *testing.T, row row) {
		if got := outcomeOf(row.Status); got != want[row.Want] {
			t.Errorf("got %v, want %s", got, row.Want)
		}
	})
}

func TestMessages(t *testing.T) {
	type row struct {
		Body string `json:"body"`
		Want string `json:"want"`
	}
	rows(t, "messages", func(t *testing.T, row row) {
		if got := serverMessage([]byte(row.Body)); got != row.Want {
			t.Errorf("got %q", got)
		}
	})
}

func TestWarnings(t *testing.T) {
	type row struct {
		Headers []string `json:"headers"`
		Want    []string `json:"want"`
	}
	rows(t, "warnings", func(t *testing.T, row row) {
		if got := warningTexts(row.Headers); strings.Join(got, "|") != strings.Join(row.Want, "|") {
			t.Errorf("got %q, want %q", got, row.Want)
		}
	})
}

func TestTokens(t *testing.T) {
	type row struct {
		File string  `json:"file"`
		Want *string `json:"want"`
	}
	rows(t, "tokens", func(t *testing.T, row row) {
		got, ok := tokenText([]byte(row.File))
		if ok != (row.Want != nil) || ok && got != *row.Want {
			t.Errorf("got %q, %v", got, ok)
		}
	})
}

func TestBodies(t *testing.T) {
	type row struct {
		Report struct {
			Progress  *int32      `json:"progressPercentage"`
			Remaining *int32      `json:"estimatedRemainingSeconds"`
			Metrics   [][2]string `json:"metrics"`
			Time      string      `json:"lastUpdatedTime"`
		} `json:"report"`
		Want string `json:"want"`
	}
	rows(t, "bodies", func(t *testing.T, row row) {
		status := wire.TrainerStatus{
			ProgressPercentage: row.Report.Progress, EstimatedRemainingSeconds: row.Report.Remaining, LastUpdatedTime: &row.Report.Time,
		}
		for _, m := range row.Report.Metrics {
			status.Metrics = append(status.Metrics, wire.Metric{Name: m[0], Value: m[1]})
		}
		got, err := encode(wire.TrainJobStatusUpdate{TrainerStatus: &status})
		if err != nil || string(got) != row.Want {
			t.Errorf("got  %s, %v\nwant %s", got, err, row.Want)
		}
	})
}

func TestTimes(t *testing.T) {
	type row struct {
		Micros int64   `json:"micros"`
		Before *string `json:"before"`
		Want   string  `json:"want"`
	}
	rows(t, "times", func(t *testing.T, row row) {
		micros := row.Micros
		if row.Before != nil {
			before, err := time.Parse(time.RFC3339, *row.Before)
			if err != nil {
				t.Fatal(err)
			}
			micros = stampAfter(before.UnixMicro(), micros)
		}
		if got := formatStamp(micros); got != row.Want {
			t.Errorf("got %s, want %s", got, row.Want)
		}
	})
}

func TestStoredReports(t *testing.T) {
	type row struct {
		Status int             `json:"status"`
		Body   string          `json:"body"`
		Want   json.RawMessage `json:"want"`
	}
	rows(t, "stored", func(t *testing.T, row row) {
		var want *wire.TrainerStatus
		if err := json.Unmarshal(row.Want, &want); err != nil {
			t.Fatal(err)
		}
		got, ok := storedReport(answer{status: row.Status, body: []byte(row.Body)})
		if ok != (want != nil) {
			t.Fatalf("found: %v, want %v", ok, want != nil)
		}
		if want == nil {
			return
		}
		back := wire.TrainerStatus{}
		if got.Percent != nil {
			percent := int32(*got.Percent)
			back.ProgressPercentage = &percent
		}
		if got.Remaining != nil {
			back.EstimatedRemainingSeconds = seconds(got.Remaining.Seconds())
		}
		for _, m := range got.Metrics {
			back.Metrics = append(back.Metrics, wire.Metric(m))
		}
		if !got.Updated.IsZero() {
			stamp := got.Updated.Format(time.RFC3339)
			back.LastUpdatedTime = &stamp
		}
		gotText, _ := json.Marshal(back)
		wantText, _ := json.Marshal(want)
		if string(gotText) != string(wantText) {
			t.Errorf("got %s, want %s", gotText, wantText)
		}
	})
}
