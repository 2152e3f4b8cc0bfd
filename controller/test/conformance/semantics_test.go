// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// now is a time that every case may send: a little ago, in whole seconds.
var now = time.Now().UTC().Add(-time.Minute).Truncate(time.Second)

// stamp is the member lastUpdatedTime with that time.
var stamp = fmt.Sprintf(`"lastUpdatedTime":"%s"`, now.Format(time.RFC3339))

func metrics(n int, entry string) string {
	return `"metrics":[` + strings.TrimSuffix(strings.Repeat(entry+",", n), ",") + `]`
}

// semantics is a body that is posted, with what comes back and what is stored.
type semantics struct {
	source string
	// before is posted first where it is set.
	before string
	body   string
	code   int
	// stored is the stored status; "" means the one before, "none" that there is none.
	stored string
	// echo is the answer; "" means the stored status in its envelope.
	echo string
	// warning is part of a Warning header; "" means that there is none.
	warning string
	// cause is the field that details.causes names.
	cause string
	// message is part of the message of a refusal.
	message string
	// upstream is the status code of upstream and onPurpose why ours differs.
	upstream  string
	onPurpose string
	// serverTime says that the stored time is the server's.
	serverTime bool
}

// Why ours differs from upstream.
const (
	oneDetail = "one detail does not cost the report"
	sdkSends  = "the SDK sends it, and one detail does not cost the report"
	hasClock  = "the server has a clock"
	notWhole  = "what is not one whole value may be a part of one"
)

var semanticCases = map[string]semantics{
	"a good report": {
		source: "design, 6", upstream: "200", code: 200,
		body:   `{"trainerStatus":{"progressPercentage":50,` + stamp + `}}`,
		stored: `{"progressPercentage":50,` + stamp + `}`,
	},
	"every field, unknown ones dropped": {
		source: "design, 11, D12", upstream: "200", code: 200,
		body:   `{"x":1,"trainerStatus":{"y":{"z":[]},"progressPercentage":42,"estimatedRemainingSeconds":120,"metrics":[{"name":"loss","value":"0.123","unit":"nats"},{"name":"accuracy","value":"0.95"}],` + stamp + `}}`,
		stored: `{"progressPercentage":42,"estimatedRemainingSeconds":120,"metrics":[{"name":"loss","value":"0.123"},{"name":"accuracy","value":"0.95"}],` + stamp + `}`,
	},
	"keys in another case": {
		source: "D12", upstream: "200", code: 200,
		body:   `{"TrainerStatus":{"PROGRESSPERCENTAGE":50,"LastUpdatedTime":"` + now.Format(time.RFC3339) + `"}}`,
		stored: `{"progressPercentage":50,` + stamp + `}`,
	},
	"a time with microseconds and offset": {
		source: "D13", upstream: "200", code: 200,
		body:   `{"trainerStatus":{"progressPercentage":50,"lastUpdatedTime":"` + now.Add(197448*time.Microsecond).Format("2006-01-02T15:04:05.000000") + `+00:00"}}`,
		stored: `{"progressPercentage":50,` + stamp + `}`,
	},
	"an empty object changes nothing": {
		source: "design, 8", upstream: "200", code: 200,
		before: `{"trainerStatus":{"progressPercentage":40,` + stamp + `}}`, body: `{}`, echo: `{}`,
	},
	"null changes nothing":              {source: "design, D6", upstream: "200", code: 200, body: `null`, echo: `{}`, stored: "none"},
	"no status changes nothing":         {source: "design, D6", upstream: "200", code: 200, body: `{"other":1}`, echo: `{}`, stored: "none"},
	"a status of null changes nothing":  {source: "design, D6", upstream: "200", code: 200, body: `{"trainerStatus":null}`, echo: `{}`, stored: "none"},
	"a field left out is cleared":       {source: "design, 7", upstream: "200", code: 200, before: `{"trainerStatus":{"progressPercentage":30,"estimatedRemainingSeconds":5,"metrics":[{"name":"a","value":"1"}],` + stamp + `}}`, body: `{"trainerStatus":{` + stamp + `}}`, stored: `{` + stamp + `}`},
	"an empty list of metrics clears":   {source: "1.6", upstream: "200", code: 200, before: `{"trainerStatus":{"metrics":[{"name":"a","value":"1"}],` + stamp + `}}`, body: `{"trainerStatus":{"metrics":[],` + stamp + `}}`, stored: `{` + stamp + `}`},
	"lower progress is stored":          {source: "design, D14", upstream: "200", code: 200, before: `{"trainerStatus":{"progressPercentage":80,` + stamp + `}}`, body: `{"trainerStatus":{"progressPercentage":0,` + stamp + `}}`, stored: `{"progressPercentage":0,` + stamp + `}`},
	"names may repeat":                  {source: "1.6, C3", upstream: "200", code: 200, body: `{"trainerStatus":{` + metrics(2, `{"name":"a","value":"1"}`) + `,` + stamp + `}}`, stored: `{` + metrics(2, `{"name":"a","value":"1"}`) + `,` + stamp + `}`},
	"256 metrics of 64 characters, nan": {source: "D10", upstream: "200", code: 200, body: `{"trainerStatus":{` + metrics(256, `{"name":"`+strings.Repeat("é", 64)+`","value":"nan"}`) + `,` + stamp + `}}`, stored: `{` + metrics(256, `{"name":"`+strings.Repeat("é", 64)+`","value":"nan"}`) + `,` + stamp + `}`},

	"progress above 100":            {source: "design, 9", upstream: "422", code: 422, body: `{"trainerStatus":{"progressPercentage":150,` + stamp + `}}`, stored: "none", cause: "trainerStatus.progressPercentage", message: "150 is outside 0 to 100"},
	"progress below 0":              {source: "design, D9", upstream: "422", code: 422, body: `{"trainerStatus":{"progressPercentage":-1,` + stamp + `}}`, stored: "none", cause: "trainerStatus.progressPercentage"},
	"time left below 0":             {source: "design, D9", upstream: "422", code: 422, body: `{"trainerStatus":{"estimatedRemainingSeconds":-1,` + stamp + `}}`, stored: "none", cause: "trainerStatus.estimatedRemainingSeconds"},
	"a refused report keeps old":    {source: "design", upstream: "422", code: 422, before: `{"trainerStatus":{"progressPercentage":40,` + stamp + `}}`, body: `{"trainerStatus":{"progressPercentage":150}}`, cause: "trainerStatus.progressPercentage"},
	"progress as a string":          {source: "design, D8", upstream: "422", code: 422, body: `{"trainerStatus":{"progressPercentage":"50"}}`, stored: "none", cause: "trainerStatus.progressPercentage", message: "byte 39"},
	"progress as a boolean":         {source: "design, D8", upstream: "422", code: 422, body: `{"trainerStatus":{"progressPercentage":true}}`, stored: "none", cause: "trainerStatus.progressPercentage"},
	"NaN as progress":               {source: "design", upstream: "422", code: 422, body: `{"trainerStatus":{"progressPercentage":NaN}}`, stored: "none", message: "byte 39"},
	"broken JSON":                   {source: "design, 2", upstream: "422", code: 422, body: `invalid payload`, stored: "none", message: "Invalid payload"},
	"no body":                       {source: "D5", upstream: "422", code: 422, body: ``, stored: "none", message: "Invalid payload"},
	"a time that is none":           {source: "design, D8", upstream: "422", code: 422, body: `{"trainerStatus":{"lastUpdatedTime":"yesterday"}}`, stored: "none", cause: "trainerStatus.lastUpdatedTime"},
	"a time as a number":            {source: "design, D8", upstream: "422", code: 422, body: `{"trainerStatus":{"lastUpdatedTime":1781233200}}`, stored: "none", cause: "trainerStatus.lastUpdatedTime"},
	"junk behind the JSON":          {source: "design, D12", upstream: "200", onPurpose: notWhole, code: 422, body: `{"trainerStatus":{` + stamp + `}} x`, stored: "none", message: "byte"},
	"a second JSON value":           {source: "design, D12", upstream: "200", onPurpose: notWhole, code: 422, body: `{}{}`, stored: "none", message: "byte 2"},
	"progress with fraction .0":     {source: "design, D8", upstream: "422", onPurpose: sdkSends, code: 200, body: `{"trainerStatus":{"progressPercentage":45.0,` + stamp + `}}`, stored: `{"progressPercentage":45,` + stamp + `}`, warning: "progressPercentage 45.0 was taken as 45"},
	"progress with a fraction":      {source: "design, D8", upstream: "422", onPurpose: sdkSends, code: 200, body: `{"trainerStatus":{"progressPercentage":45.7,` + stamp + `}}`, stored: `{"progressPercentage":45,` + stamp + `}`, warning: "progressPercentage 45.7 was taken as 45"},
	"time left with a fraction":     {source: "design, D8", upstream: "422", onPurpose: sdkSends, code: 200, body: `{"trainerStatus":{"estimatedRemainingSeconds":12.5,` + stamp + `}}`, stored: `{"estimatedRemainingSeconds":12,` + stamp + `}`, warning: "estimatedRemainingSeconds 12.5 was taken as 12"},
	"time left above int32":         {source: "design, D8", upstream: "422", onPurpose: oneDetail, code: 200, body: `{"trainerStatus":{"estimatedRemainingSeconds":3e9,` + stamp + `}}`, stored: `{"estimatedRemainingSeconds":2147483647,` + stamp + `}`, warning: "3e9 was taken as 2147483647"},
	"one metric with an empty name": {source: "design, D9", upstream: "422", onPurpose: oneDetail, code: 200, body: `{"trainerStatus":{"metrics":[{"name":"","value":"1"},{"name":"a","value":"1"}],` + stamp + `}}`, stored: `{` + metrics(1, `{"name":"a","value":"1"}`) + `,` + stamp + `}`, warning: "metrics[0] has no name"},
	"one metric with a long value":  {source: "design, D9", upstream: "422", onPurpose: oneDetail, code: 200, body: `{"trainerStatus":{"metrics":[{"name":"a","value":"` + strings.Repeat("x", 65) + `"}],` + stamp + `}}`, stored: `{` + stamp + `}`, warning: "longer than 64"},
	"a number as value":             {source: "design, D8", upstream: "422", onPurpose: oneDetail, code: 200, body: `{"trainerStatus":{"metrics":[{"name":"a","value":1e-05}],` + stamp + `}}`, stored: `{` + metrics(1, `{"name":"a","value":"1e-05"}`) + `,` + stamp + `}`},
	"a boolean as value":            {source: "design, D8", upstream: "422", onPurpose: oneDetail, code: 200, body: `{"trainerStatus":{"metrics":[{"name":"a","value":true}],` + stamp + `}}`, stored: `{` + stamp + `}`, warning: "neither string nor number"},
	"257 metrics":                   {source: "design, D9", upstream: "422", onPurpose: oneDetail, code: 200, body: `{"trainerStatus":{` + metrics(257, `{"name":"a","value":"1"}`) + `,` + stamp + `}}`, stored: `{` + metrics(256, `{"name":"a","value":"1"}`) + `,` + stamp + `}`, warning: "1 left out"},
	"no time":                       {source: "design, D7", upstream: "422", onPurpose: hasClock, code: 200, body: `{"trainerStatus":{"progressPercentage":1}}`, stored: `{"progressPercentage":1,`, serverTime: true, warning: "is missing"},
	"an empty status":               {source: "D7", upstream: "422", onPurpose: hasClock, code: 200, body: `{"trainerStatus":{}}`, stored: `{`, serverTime: true, warning: "is missing"},
	"a time of null":                {source: "D7", upstream: "422", onPurpose: hasClock, code: 200, body: `{"trainerStatus":{"lastUpdatedTime":null}}`, stored: `{`, serverTime: true, warning: "is missing"},
	"a time without zone":           {source: "design, D8", upstream: "422", onPurpose: hasClock, code: 200, body: `{"trainerStatus":{"lastUpdatedTime":"` + now.Format("2006-01-02T15:04:05") + `"}}`, stored: `{` + stamp + `}`, warning: "has no zone"},
	"a time ahead":                  {source: "design", upstream: "200", onPurpose: "it would shut out later reports", code: 200, body: `{"trainerStatus":{"lastUpdatedTime":"2099-01-01T00:00:00Z"}}`, stored: `{`, serverTime: true, warning: "five minutes ahead"},
	"an older report of the same pod": {
		source: "design, D14", upstream: "200, stored", onPurpose: "a late report must not undo a newer one", code: 200,
		before:  `{"trainerStatus":{"progressPercentage":60,` + stamp + `}}`,
		body:    `{"trainerStatus":{"progressPercentage":50,"lastUpdatedTime":"` + now.Add(-time.Second).Format(time.RFC3339) + `"}}`,
		echo:    `{"trainerStatus":{"progressPercentage":50,"lastUpdatedTime":"` + now.Add(-time.Second).Format(time.RFC3339) + `"}}`,
		warning: "superseded",
	},
	"a final report is stored when it is answered": {
		source: "design", upstream: "200", code: 200,
		body:   `{"trainerStatus":{"progressPercentage":100,"estimatedRemainingSeconds":0,` + stamp + `}}`,
		stored: `{"progressPercentage":100,"estimatedRemainingSeconds":0,` + stamp + `}`,
	},
}

func TestSemantics(t *testing.T) {
	i := 0
	for _, name := range sortedNames(semanticCases) {
		tc := semanticCases[name]
		i++
		job := fmt.Sprintf("semantics-%d", i)
		t.Run(name, func(t *testing.T) {
			c := newCaller(t, job)
			if tc.before != "" {
				if got := c.post(tc.before); got.code != http.StatusOK {
					t.Fatalf("the report before is answered %d %s", got.code, got.body)
				}
				c.wantStored(envelopeOff(tc.before))
			}
			got := c.post(tc.body)
			defer func() {
				shared.note(t, row{source: tc.source, name: name, upstream: tc.upstream, ours: fmt.Sprint(got.code), onPurpose: tc.onPurpose})
			}()
			if got.code != tc.code {
				t.Fatalf("answer %d %s, want %d", got.code, got.body, tc.code)
			}
			checkWarnings(t, got, tc.warning)
			if got.code == http.StatusOK {
				checkAccepted(t, c, tc, got)
			} else {
				checkRefused(t, c, tc, got)
			}
		})
	}
}

func checkAccepted(t *testing.T, c *caller, tc semantics, got answer) {
	t.Helper()
	if tc.serverTime {
		status := c.stored()
		if status == nil || time.Since(status.LastUpdatedTime.Time).Abs() > 10*time.Second {
			t.Fatalf("stored %+v, want the server's time", status)
		}
		tc.stored += fmt.Sprintf(`"lastUpdatedTime":"%s"}`, status.LastUpdatedTime.UTC().Format(time.RFC3339))
	}
	want := tc.echo
	if want == "" {
		want = `{"trainerStatus":` + tc.stored + `}`
	}
	if got.body != want+"\n" {
		t.Errorf("answer %s, want %s", got.body, want)
	}
	if tc.stored == "" {
		tc.stored = envelopeOff(tc.before)
	}
	c.wantStored(tc.stored)
	if read := c.do(http.MethodGet, "", nil); tc.stored != "none" && read.body != `{"trainerStatus":`+tc.stored+"}\n" {
		t.Errorf("reading gives %s, want what is stored", read.body)
	}
}

func checkRefused(t *testing.T, c *caller, tc semantics, got answer) {
	t.Helper()
	if got.status.Reason != "Invalid" || got.status.Message == "" || !strings.Contains(got.status.Message, tc.message) {
		t.Errorf("status %+v, want Invalid with %q", got.status, tc.message)
	}
	if tc.cause != "" && !strings.Contains(got.status.Message, c.set.TrainJob.Name) {
		t.Errorf("message %q does not name the job", got.status.Message)
	}
	var fields []string
	for _, cause := range *got.status.Details.Causes {
		if cause.Field != nil {
			fields = append(fields, *cause.Field)
		}
	}
	if tc.cause != "" && !slices.Contains(fields, tc.cause) {
		t.Errorf("causes name %q, want %s", fields, tc.cause)
	}
	if tc.stored == "" {
		tc.stored = envelopeOff(tc.before)
	}
	c.wantStored(tc.stored)
}

func checkWarnings(t *testing.T, got answer, want string) {
	t.Helper()
	warnings := got.header.Values("Warning")
	if want == "" && len(warnings) > 0 {
		t.Errorf("warnings %q, want none", warnings)
	}
	if want != "" && !slices.ContainsFunc(warnings, func(w string) bool {
		return strings.HasPrefix(w, `299 - "`) && strings.Contains(w, want)
	}) {
		t.Errorf("warnings %q, want one with %q", warnings, want)
	}
}

func envelopeOff(body string) string {
	return strings.TrimSuffix(strings.TrimPrefix(body, `{"trainerStatus":`), "}")
}

func sortedNames[T any](m map[string]T) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
