// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/reporters/conformance/internal/endpoint"
	"github.com/milepost-dev/milepost/reporters/conformance/internal/vectors"
)

// twoReports is a case that a reporter in one piece passes.
const twoReports = `{
	"id": "x/y/z", "title": "two reports", "duties": ["D19"],
	"steps": [
		{"create": {}},
		{"report": {"step": 1, "totalSteps": 10}},
		{"next": {"progress": 10, "eta": null, "token": "token", "within": 2}},
		{"report": {"step": 2, "totalSteps": 10}},
		{"next": {"progress": 20, "connection": "same", "within": 2}}
	]
}`

// strangers is a case in which a reporter must not send.
const strangers = `{
	"id": "x/y/z", "title": "another authority", "duties": ["D16"],
	"steps": [
		{"write": {"ca": "b"}},
		{"create": {}},
		{"report": {"step": 1, "totalSteps": 10}},
		{"quiet": {"for": 0.2}}
	]
}`

// paced is a case in which the second report has to wait, which the executor of these tests never does.
const paced = `{
	"id": "x/y/z", "title": "an interval", "duties": ["D12"],
	"steps": [
		{"create": {}},
		{"report": {"step": 1, "totalSteps": 10}},
		{"next": {"progress": 10}},
		{"report": {"step": 2, "totalSteps": 10}},
		{"next": {"progress": 20, "gap": {"from": "start", "atLeast": 20}}}
	]
}`

func TestRunnerFindsFaults(t *testing.T) {
	for fault, want := range map[string]string{
		"":                        "",
		"sends nothing":           "no request came",
		"sends twice":             "progress is 10, want 20",
		"raises":                  "raised",
		"prints":                  "no answer",
		"answers another request": "another id",
		"never ends":              "did not end",
		"ends badly":              "exit status 3",
		"trusts nobody":           "no request came",
		"asks for compression":    "asks for compression",
		"compresses":              "no report",
		"chunks":                  "Content-Length",
		"wrong method":            "the method is PUT",
		"wrong path":              "the path is",
		"wrong token":             "want the token",
		"no type":                 "Content-Type",
		"nameless":                "User-Agent",
		"new connections":         "want it same",
		"wrong number":            "progress is 77, want 10",
		"number as text":          "no report",
		"number with fraction":    "no report",
		"keys out of order":       "order",
		"unknown key":             "unknown key phase",
		"empty metrics":           "empty list",
		"no time":                 "the time is",
		"old time":                "before the request",
		"time without fraction":   "the time is",
		"no JSON":                 "no report",
	} {
		t.Run(fault, func(t *testing.T) { checkFault(t, twoReports, fault, want) })
	}
	t.Run("trusts everyone", func(t *testing.T) { checkFault(t, strangers, "trusts everyone", "should not") })
	t.Run("does not wait", func(t *testing.T) { checkFault(t, paced, "", "want at least 20") })
	t.Run("trusts those it should", func(t *testing.T) { checkFault(t, strangers, "", "") })
}

func checkFault(t *testing.T, text, fault, want string) {
	t.Helper()
	t.Parallel()
	var test vectors.Case
	if err := json.Unmarshal([]byte(text), &test); err != nil {
		t.Fatal(err)
	}
	test.Environment = map[string]*string{faultVariable: &fault}
	err := run(t.Context(), &Language{Name: "go", Executor: executor{Run: []string{os.Args[0]}}, folder: t.TempDir(), patience: 3}, test, 1)
	switch {
	case want == "" && err != nil:
		t.Errorf("a right executor fails: %v", err)
	case want != "" && err == nil:
		t.Error("the fault went unnoticed")
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("got %v, want it to say %q", err, want)
	}
}

func TestGapBlamesNoReporterForASlowMachine(t *testing.T) {
	made := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	after := func(seconds float64) time.Time { return made.Add(time.Duration(seconds * float64(time.Second))) }
	report := endpoint.Request{Body: []byte(`{"trainerStatus":{"lastUpdatedTime":"2026-01-02T03:04:05.000000Z"}}`)}
	for name, tc := range map[string]struct {
		gap                   gap
		end, seen, done, next float64 // end of the attempt before that, then what was seen
		want                  string
	}{
		"slow to connect, and then in time": {gap: gap{From: "start"}, seen: 0.7, next: 1, want: ""},
		"too early":                         {gap: gap{From: "start"}, seen: 0.1, next: 0.8, want: "want at least"},
		"too late":                          {gap: gap{From: "start"}, seen: 0.1, next: 3.2, want: "want at most"},
		"tried again too early":             {gap: gap{From: "start"}, end: 0.5, seen: 0.6, next: 1.2, want: "want at least"},
		"late, but so was its start":        {gap: gap{From: "start"}, seen: 2, next: 3.2, want: ""},
		"too early after the end":           {gap: gap{From: "end"}, seen: 0.1, done: 1, next: 1.5, want: "want at least"},
	} {
		t.Run(name, func(t *testing.T) {
			before := report
			before.Began, before.End = after(tc.seen), after(tc.done)
			var end time.Time
			if tc.end > 0 {
				end = after(tc.end)
			}
			tc.gap.AtLeast, tc.gap.AtMost = 0.9, 3
			err := tc.gap.checkTime(endpoint.Request{Start: after(tc.next)}, moment{before: &before, begun: begun(before, end)})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestClockOfABusyMachine(t *testing.T) {
	for name, tc := range map[string]struct {
		loadavg string
		want    clock
	}{
		"a quiet machine":                 {"0.10 0.20 0.30 1/200 77", 1},
		"one with enough to do":           {"3.90 1.00 1.00 2/200 77", 1},
		"one that was busy in the minute": {"9.00 9.00 9.00 1/200 77", 2},
		"one that has just become busy":   {"0.10 0.10 0.10 16/200 77", 3},
		"one that is swamped":             {"90.00 80.00 70.00 99/200 77", 4},
		"one that does not tell":          {"?", 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := clockFor(wanting(tc.loadavg), 2); got != tc.want {
				t.Errorf("got %g, want %g", got, tc.want)
			}
		})
	}
}

func TestClockStretchesTimesAlone(t *testing.T) {
	fields := map[string]json.RawMessage{"options": json.RawMessage(`{"timeScale":0.1,"interval":0}`), "manualClock": json.RawMessage(`true`)}
	got, err := clock(3).arguments("create", fields)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"interval":0,"limitScale":3,"timeScale":0.30000000000000004}`; string(got["options"]) != want || string(got["manualClock"]) != "true" {
		t.Errorf("create has %s and %s, want %s", got["options"], got["manualClock"], want)
	}
	report := map[string]json.RawMessage{"pause": json.RawMessage(`2`)}
	if got, err := clock(3).arguments("report", report); err != nil || string(got["pause"]) != "2" {
		t.Errorf("report has %s, %v", got["pause"], err)
	}
	if got, err := clock(3).arguments("track", report); err != nil || string(got["pause"]) != "6" {
		t.Errorf("track has %s, %v", got["pause"], err)
	}
	w := clock(2).wanted(wanted{Within: 5, Soon: 1, Gap: &gap{bounds: bounds{AtLeast: 1, AtMost: 3}, From: "end"}, Body: bounds{AtMost: 7}})
	if w.Within != 10 || w.Soon != 2 || w.Gap.AtLeast != 2 || w.Gap.AtMost != 6 || w.Gap.From != "end" || w.Body.AtMost != 7 {
		t.Errorf("got %+v with %+v", w, w.Gap)
	}
}

func TestKnownFailingCasesExist(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..")
	languages, err := Languages(root)
	if err != nil || len(languages) == 0 {
		t.Fatalf("found %d languages: %v", len(languages), err)
	}
	cases, err := vectors.Cases(filepath.Join(root, vectors.Folder))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range languages {
		for _, id := range l.known {
			if !slices.ContainsFunc(cases, func(c vectors.Case) bool { return c.ID == id }) {
				t.Errorf("%s/%s.txt lists %s, which does not exist", knownFailing, l.Name, id)
			}
		}
	}
}

func TestVerdictsOfKnownFailures(t *testing.T) {
	var test vectors.Case
	if err := json.Unmarshal([]byte(twoReports), &test); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		fault string
		known []string
		needs []string
		lacks []string
		want  verdict
	}{
		"a right case":                            {want: passed},
		"a wrong case":                            {fault: "sends nothing", want: wrong},
		"a case that is known to fail, and does":  {fault: "sends nothing", known: []string{"x/y/z"}, want: expected},
		"a case that is known to fail, and won't": {known: []string{"x/y/z"}, want: surprising},
		"a case that needs what go lacks":         {needs: []string{"fork"}, want: absent},
		"a case for those who lack what go has":   {lacks: []string{"threads"}, want: absent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test := test
			test.Needs, test.Lacks = tc.needs, tc.lacks
			test.Environment = map[string]*string{faultVariable: &tc.fault}
			l := &Language{Name: "go", Executor: executor{Run: []string{os.Args[0]}}, folder: t.TempDir(), known: tc.known, patience: 3}
			got := l.runOne(t.Context(), test)
			if got.verdict != tc.want {
				t.Errorf("the verdict is %q (%v), want %q", got.verdict, got.err, tc.want)
			}
			if bad := tc.want == wrong || tc.want == surprising; got.bad() != bad {
				t.Errorf("bad: %v, want %v", got.bad(), bad)
			}
		})
	}
}

func TestTable(t *testing.T) {
	one, two := &Language{Name: "one"}, &Language{Name: "two"}
	results := []result{
		{language: one, test: vectors.Case{Duties: []string{"D2", "D10"}}, verdict: passed},
		{language: one, test: vectors.Case{Duties: []string{"D2"}}, verdict: wrong},
		{language: one, test: vectors.Case{Duties: []string{"D3"}}, verdict: expected},
		{language: one, test: vectors.Case{Duties: []string{"D3"}}, verdict: passed},
		{language: two, test: vectors.Case{Duties: []string{"D2"}}, verdict: absent},
		{language: two, test: vectors.Case{Duties: []string{"D10"}}, verdict: passed},
	}
	var out strings.Builder
	printTable(&out, []*Language{one, two}, results)
	want := `
duty   one             two
D2     1 of 2 FAILED   n/a
D3     1 ok, 1 known   n/a
D10    1 ok            1 ok
`
	if out.String() != want {
		t.Errorf("got\n%q, want\n%q", out.String(), want)
	}
}
