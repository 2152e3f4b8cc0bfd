// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/milepost-dev/milepost/controller/internal/report"
	"github.com/milepost-dev/milepost/controller/internal/reportapi"
)

const examplesFolder = "../../../openapi/report/v1alpha1/examples"

func number(literal string) report.Number { return report.Number{Literal: literal} }

func TestBodiesThatAreRead(t *testing.T) {
	cases := map[string]struct {
		body string
		want *report.Draft
	}{
		"an empty object":           {body: `{}`},
		"null":                      {body: ` null `},
		"another field":             {body: `{"other":[1,{"a":[]},"x",null,true,-1.5e+3]}`},
		"no status":                 {body: `{"trainerStatus":null}`},
		"an empty status":           {body: `{"trainerStatus":{}}`, want: &report.Draft{}},
		"every field":               {body: `{"trainerStatus":{"progressPercentage":45,"estimatedRemainingSeconds":12.5,"metrics":[{"name":"a","value":"1"}],"lastUpdatedTime":"t"}}`, want: &report.Draft{Progress: number("45"), Remaining: number("12.5"), Metrics: []report.DraftMetric{{Name: "a", Value: "1"}}, LastUpdatedTime: report.Text{Set: true, Value: "t"}}},
		"null in every field":       {body: `{"trainerStatus":{"progressPercentage":null,"estimatedRemainingSeconds":null,"metrics":null,"lastUpdatedTime":null}}`, want: &report.Draft{}},
		"keys in another case":      {body: `{"TRAINERSTATUS":{"ProgressPercentage":1,"METRICS":[{"NAME":"a","Value":"1"}]}}`, want: &report.Draft{Progress: number("1"), Metrics: []report.DraftMetric{{Name: "a", Value: "1"}}}},
		"keys written with escapes": {body: `{"trainer\u0053tatus":{"progressPercentage":1}}`, want: &report.Draft{Progress: number("1")}},
		"a key twice":               {body: `{"trainerStatus":{"progressPercentage":1,"progressPercentage":2}}`, want: &report.Draft{Progress: number("2")}},
		"a status twice":            {body: `{"trainerStatus":{"progressPercentage":1},"trainerStatus":{"estimatedRemainingSeconds":2}}`, want: &report.Draft{Progress: number("1"), Remaining: number("2")}},
		"a status taken back":       {body: `{"trainerStatus":{"progressPercentage":1},"trainerStatus":null}`},
		"white space everywhere":    {body: " \t\r\n{ \"trainerStatus\" : { \"progressPercentage\" : 1 } } \n", want: &report.Draft{Progress: number("1")}},
		"escapes in values": {
			body: `{"trainerStatus":{"metrics":[{"name":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00","value":"\ud83d \u0000"}]}}`,
			want: &report.Draft{Metrics: []report.DraftMetric{{Name: "\"\\/\b\f\n\r\té😀", Value: "\ufffd \x00"}}},
		},
		"bytes that are no UTF-8": {
			body: "{\"trainerStatus\":{\"metrics\":[{\"name\":\"a\xff\",\"value\":\"\xc3\x28\"}]}}",
			want: &report.Draft{Metrics: []report.DraftMetric{{Name: "a\ufffd", Value: "\ufffd("}}},
		},
		"numbers as values": {
			body: `{"trainerStatus":{"metrics":[{"name":"a","value":0.30000000000000004},{"name":"b","value":-1e5}]}}`,
			want: &report.Draft{Metrics: []report.DraftMetric{{Name: "a", Value: "0.30000000000000004"}, {Name: "b", Value: "-1e5"}}},
		},
		"metrics that cannot be kept": {
			body: `{"trainerStatus":{"metrics":[1,null,{"name":1,"value":"x"},{"name":"a","value":true},{"name":"b","value":[1]},{"name":"c"}]}}`,
			want: &report.Draft{Metrics: []report.DraftMetric{
				{Fault: report.MetricNotObject},
				{Fault: report.MetricNotObject},
				{Value: "x", Fault: report.MetricNameNotText},
				{Name: "a", Fault: report.MetricValueNotText},
				{Name: "b", Fault: report.MetricValueNotText},
				{Name: "c"},
			}},
		},
		"an unknown value nested a thousand deep": {body: `{"x":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := decodeUpdate(tc.body)
			if err != nil {
				t.Fatalf("decoding: %v", err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("draft (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBodiesThatAreRefused(t *testing.T) {
	const progress = `{"trainerStatus":{"progressPercentage":`
	cases := map[string]struct {
		body string
		want string
	}{
		"nothing":                       {body: "", want: "byte 0: the body is empty"},
		"blanks":                        {body: " \n", want: "byte 0: the body is empty"},
		"words":                         {body: "invalid payload", want: "byte 0: this is no JSON value"},
		"a byte-order mark":             {body: "\ufeff{}", want: "byte 0: this is no JSON value"},
		"a second value":                {body: "{}{}", want: "byte 2: there is something behind the JSON value"},
		"junk behind":                   {body: "{} x", want: "byte 3: there is something behind the JSON value"},
		"a zero byte behind":            {body: "{}\x00", want: "byte 2: there is something behind the JSON value"},
		"a list":                        {body: "[]", want: "byte 0: a list stands where an object belongs"},
		"a number":                      {body: "5", want: "byte 0: 5 stands where an object belongs"},
		"a string":                      {body: `"x"`, want: `byte 0: the string "x" stands where an object belongs`},
		"a status that is a list":       {body: `{"trainerStatus":[]}`, want: "trainerStatus: byte 17: a list stands where an object belongs"},
		"progress as a string":          {body: progress + `"50"}}`, want: `trainerStatus.progressPercentage: byte 39: the string "50" stands where a number belongs`},
		"progress as a boolean":         {body: progress + `true}}`, want: "trainerStatus.progressPercentage: byte 39: true stands where a number belongs"},
		"progress as an object":         {body: progress + `{}}}`, want: "trainerStatus.progressPercentage: byte 39: an object stands where a number belongs"},
		"progress NaN":                  {body: progress + `NaN}}`, want: "byte 39: this is no JSON value"},
		"progress Infinity":             {body: progress + `-Infinity}}`, want: "byte 40: a digit is missing"},
		"a number with a leading zero":  {body: progress + `01}}`, want: "byte 40: a comma or '}' is missing"},
		"a number without a fraction":   {body: progress + `1.}}`, want: "byte 41: a digit is missing"},
		"a number without an exponent":  {body: progress + `1e}}`, want: "byte 41: a digit is missing"},
		"metrics as a string":           {body: `{"trainerStatus":{"metrics":"x"}}`, want: `trainerStatus.metrics: byte 28: the string "x" stands where a list belongs`},
		"time as a number":              {body: `{"trainerStatus":{"lastUpdatedTime":5}}`, want: "trainerStatus.lastUpdatedTime: byte 36: 5 stands where a time as a string belongs"},
		"an object cut short":           {body: `{"trainerStatus":{"metrics":[`, want: "byte 29: the text ends too early"},
		"a string cut short":            {body: `{"abc`, want: "byte 1: the string does not end"},
		"a wrong escape":                {body: `{"a\x":1}`, want: "byte 3: the string has a wrong escape"},
		"an escape cut short":           {body: `{"\u12"}`, want: "byte 2: the string has a wrong escape"},
		"a control character in a text": {body: "{\"a\n\":1}", want: "byte 3: a control character stands in a string"},
		"a key that is no string":       {body: `{1:2}`, want: "byte 1: a key must be a string"},
		"a comma too many":              {body: `{"a":1,}`, want: "byte 7: a key must be a string"},
		"a colon missing":               {body: `{"a" 1}`, want: "byte 5: ':' is missing"},
		"mixed brackets":                {body: `{"a":[1}}`, want: "byte 7: a comma or ']' is missing"},
		"nested too deep":               {body: strings.Repeat("[", maxDepth+1), want: "byte 10000: the value nests too deep"},
		"several fields of wrong types": {body: `{"trainerStatus":{"progressPercentage":[],"metrics":5}}`, want: "trainerStatus.progressPercentage: byte 39: a list stands where a number belongs; trainerStatus.metrics: byte 52: 5 stands where a list belongs"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := decodeUpdate(tc.body)
			var invalid report.Invalid
			if !errors.As(err, &invalid) {
				t.Fatalf("error %v, want report.Invalid", err)
			}
			if got := invalid.Error(); got != tc.want {
				t.Errorf("error %q, want %q", got, tc.want)
			}
		})
	}
}

func TestLongListOfMetricsIsReadToItsBound(t *testing.T) {
	body := `{"trainerStatus":{"metrics":[` + strings.Repeat(`{"name":"a","value":"1"},`, 600) + `{}]}}`
	got, err := decodeUpdate(body)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Metrics) != maxDraftMetrics || got.MoreMetrics != 601-maxDraftMetrics {
		t.Errorf("%d read and %d counted, want %d and %d", len(got.Metrics), got.MoreMetrics, maxDraftMetrics, 601-maxDraftMetrics)
	}
}

func TestNamedExamplesAreRead(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(examplesFolder, "report-*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeUpdate(string(data)); err != nil {
			t.Errorf("example %s: %v", filepath.Base(file), err)
		}
	}
}

// FuzzBody holds the decoder against encoding/json: both must agree on what is
// JSON, and on what a report says that the generated types can hold.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"trainerStatus":{"progressPercentage":45,"metrics":[{"name":"a","value":"b\u00e9\ud83d\ude00"}],"lastUpdatedTime":"2026-06-12T03:00:00Z"}}`,
		`{"a":[[{"b":[]}]],"c":-1.5E+10}`, `{"trainerStatus":{"metrics":[1,{}]}}`, `{"\u0000":"\ud800\udfff"}`, "{\"a\":\"\xff\"}", `[`, `{"trainerStatus":{"metrics":null}}x`,
	} {
		f.Add(seed)
	}
	files, _ := filepath.Glob(filepath.Join(examplesFolder, "*.json"))
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			f.Add(string(data))
		}
	}
	f.Fuzz(func(t *testing.T, body string) {
		draft, err := decodeUpdate(body)
		valid := json.Valid([]byte(body))
		var invalid report.Invalid
		if err != nil && (!errors.As(err, &invalid) || len(invalid) == 0) {
			t.Fatalf("error %v is no refusal with a reason", err)
		}
		syntax := err != nil && invalid[0].Reason == reasonInvalid
		if valid == syntax {
			t.Fatalf("encoding/json finds %v, the decoder says %v", valid, err)
		}
		var want reportapi.TrainJobStatusUpdate
		if json.Unmarshal([]byte(body), &want) != nil {
			return
		}
		if err != nil {
			t.Fatalf("a body that fits the types is refused: %v", err)
		}
		compare(t, want, draft)
	})
}

func compare(t *testing.T, want reportapi.TrainJobStatusUpdate, got *report.Draft) {
	t.Helper()
	if (want.TrainerStatus == nil) != (got == nil) {
		t.Fatalf("status %v, want %v", got, want.TrainerStatus)
	}
	if got == nil {
		return
	}
	if (want.TrainerStatus.ProgressPercentage == nil) != (got.Progress.Literal == "") {
		t.Errorf("progress %q, want %v", got.Progress.Literal, want.TrainerStatus.ProgressPercentage)
	}
	if want.TrainerStatus.Metrics == nil || len(*want.TrainerStatus.Metrics) != len(got.Metrics) {
		return
	}
	for i, m := range *want.TrainerStatus.Metrics {
		if g := got.Metrics[i]; g.Fault == report.MetricSound && (g.Name != m.Name || g.Value != m.Value) {
			t.Errorf("metric %d is %+v, want %+v", i, g, m)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	data, err := os.ReadFile(filepath.Join(examplesFolder, "report-full.json"))
	if err != nil {
		b.Fatal(err)
	}
	body := string(data)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := decodeUpdate(body); err != nil {
			b.Fatal(err)
		}
	}
}
