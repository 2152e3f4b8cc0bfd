// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/milepost-dev/milepost/reporters/conformance/internal/endpoint"
)

// wanted is what a request must be. What is missing is not compared; null means that the field of
// the report must be missing.
type wanted struct {
	Within     float64           `json:"within"` // seconds until it must have come
	Method     string            `json:"method"`
	Token      string            `json:"token"`
	Progress   json.RawMessage   `json:"progress"`
	ETA        json.RawMessage   `json:"eta"`
	Metrics    json.RawMessage   `json:"metrics"` // list of pairs
	Count      *int              `json:"count"`   // of metrics
	Has        []string          `json:"has"`     // names among the metrics
	Body       bounds            `json:"body"`    // its size
	Headers    map[string]string `json:"headers"`
	Connection string            `json:"connection"` // same or new, compared with the request before
	Gap        *gap              `json:"gap"`
	Soon       float64           `json:"soon"` // seconds since the last request to the executor began
	Same       bool              `json:"same"` // byte by byte the body before
}

// gap is the time since the request before.
type gap struct {
	bounds
	From string `json:"from"` // start or end of the attempt before
}

// moment is what is known when a request is compared.
type moment struct {
	before *endpoint.Request // nil for the first request
	begun  time.Time         // when the attempt before can have begun at the earliest
	asked  time.Time         // when the last request to the executor began
}

type wireMetric struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type wireReport struct {
	Progress *int         `json:"progressPercentage"`
	ETA      *int         `json:"estimatedRemainingSeconds"`
	Metrics  []wireMetric `json:"metrics"`
	Time     *string      `json:"lastUpdatedTime"`
}

func (w wanted) check(got endpoint.Request, at moment) error {
	before := at.before
	method := w.Method
	if method == "" {
		method = http.MethodPost
	}
	if got.Method != method {
		return fmt.Errorf("the method is %s, want %s", got.Method, method)
	}
	problems := []error{
		w.checkHeaders(got),
		w.checkTimes(got, at),
		w.Body.number("the size of the body is", float64(len(got.Body))),
	}
	if method == http.MethodPost {
		problems = append(problems, w.checkReport(got))
	}
	if w.Same && before != nil && !bytes.Equal(got.Body, before.Body) {
		problems = append(problems, fmt.Errorf("the body is not that of the request before: %s", got.Body))
	}
	return errors.Join(problems...)
}

func (w wanted) checkHeaders(got endpoint.Request) error {
	if bearer := got.Header.Get("Authorization"); w.Token != "" && bearer != "Bearer "+w.Token {
		return fmt.Errorf("Authorization is %q, want the token %q", bearer, w.Token)
	}
	for name, value := range w.Headers {
		if got.Header.Get(name) != value {
			return fmt.Errorf("%s is %q, want %q", name, got.Header.Get(name), value)
		}
	}
	return nil
}

func (w wanted) checkTimes(got endpoint.Request, at moment) error {
	before := at.before
	var problems []error
	if w.Soon > 0 {
		problems = append(problems, bounds{AtMost: w.Soon}.check("seconds until the request came:", got.Start.Sub(at.asked)))
	}
	if before == nil {
		return errors.Join(problems...)
	}
	if w.Gap != nil {
		problems = append(problems, w.Gap.checkTime(got, at))
	}
	if same := got.Connection == before.Connection; w.Connection != "" && same != (w.Connection == "same") {
		problems = append(problems, fmt.Errorf("the connection is %d, the one before was %d, want it %s", got.Connection, before.Connection, w.Connection))
	}
	return errors.Join(problems...)
}

// checkTime takes each limit from the side that does not blame a reporter for a slow machine: an attempt begins before
// its connection is seen here, and not before the report in it was made.
func (g gap) checkTime(got endpoint.Request, at moment) error {
	what, first, last := "seconds since the request before:", at.begun, at.before.Began
	if g.From == "end" {
		first, last = at.before.End, at.before.End
	}
	return errors.Join(
		bounds{AtLeast: g.AtLeast}.check(what, got.Start.Sub(first)),
		bounds{AtMost: g.AtMost}.check(what, got.Start.Sub(last)),
	)
}

// begun is when the attempt behind a request can have begun at the earliest: when its report was made, and after the
// attempt before it, whose end is zero when there was none.
func begun(got endpoint.Request, endBefore time.Time) time.Time {
	var body struct {
		Status struct {
			Time time.Time `json:"lastUpdatedTime"`
		} `json:"trainerStatus"`
	}
	_ = json.Unmarshal(got.Body, &body) // what is wrong with it is said elsewhere
	if made := body.Status.Time; made.After(endBefore) {
		return made
	}
	return endBefore
}

func (w wanted) checkReport(got endpoint.Request) error {
	var body struct {
		Status wireReport `json:"trainerStatus"`
	}
	if err := json.Unmarshal(got.Body, &body); err != nil {
		return fmt.Errorf("the body is no report: %w: %s", err, cutText(got.Body))
	}
	status := body.Status
	problems := []error{field("progress", status.Progress, w.Progress), field("time remaining", status.ETA, w.ETA)}
	if w.Metrics != nil {
		var pairs any
		if status.Metrics != nil {
			list := [][2]string{}
			for _, m := range status.Metrics {
				list = append(list, [2]string{m.Name, m.Value})
			}
			pairs = list
		}
		if text, err := json.Marshal(pairs); err != nil || !sameJSON(text, w.Metrics) {
			problems = append(problems, fmt.Errorf("metrics are %s, want %s", cutText(text), cutText(w.Metrics)))
		}
	}
	if w.Count != nil && len(status.Metrics) != *w.Count {
		problems = append(problems, fmt.Errorf("there are %d metrics, want %d", len(status.Metrics), *w.Count))
	}
	for _, name := range w.Has {
		if !slices.ContainsFunc(status.Metrics, func(m wireMetric) bool { return m.Name == name }) {
			problems = append(problems, fmt.Errorf("there is no metric %q", name))
		}
	}
	return errors.Join(problems...)
}

func field(name string, got *int, want json.RawMessage) error {
	if want == nil {
		return nil
	}
	text, err := json.Marshal(got)
	if err != nil || !sameJSON(text, want) {
		return fmt.Errorf("%s is %s, want %s", name, text, want)
	}
	return nil
}

var (
	stamp = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`)
	keys  = []string{"progressPercentage", "estimatedRemainingSeconds", "metrics", "lastUpdatedTime"}
	whole = regexp.MustCompile(`"(?:progressPercentage|estimatedRemainingSeconds)":\d+[,}]`)
)

// checkWire is what every request has to be, whatever the case is about.
func checkWire(got endpoint.Request, before *endpoint.Request, language string) error {
	agent, ours := strings.CutPrefix(got.Header.Get("User-Agent"), "milepost-reporter-"+language+"/")
	switch {
	case got.Path != reportPath:
		return fmt.Errorf("the path is %s", got.Path)
	case !ours || agent == "":
		return fmt.Errorf("User-Agent is %q", got.Header.Get("User-Agent"))
	case !strings.HasPrefix(got.Header.Get("Authorization"), "Bearer "):
		return fmt.Errorf("Authorization is %q", got.Header.Get("Authorization"))
	case got.Header.Get("Content-Encoding") != "":
		return fmt.Errorf("the body is encoded as %s", got.Header.Get("Content-Encoding"))
	case strings.Contains(got.Header.Get("Accept-Encoding"), "gzip"):
		return errors.New("the request asks for compression")
	}
	if got.Method != http.MethodPost {
		return nil
	}
	switch {
	case got.Header.Get("Content-Type") != "application/json":
		return fmt.Errorf("Content-Type is %q", got.Header.Get("Content-Type"))
	case got.Length != int64(len(got.Body)):
		return fmt.Errorf("Content-Length is %d for %d bytes", got.Length, len(got.Body))
	}
	return checkBody(got, before)
}

// checkBody looks at the form of a report: keys, their order, numbers and time.
func checkBody(got endpoint.Request, before *endpoint.Request) error {
	outer, status, err := members(got.Body)
	if err != nil || len(outer) != 1 || outer[0] != "trainerStatus" {
		return fmt.Errorf("the body is no report and has the keys %v: %w", outer, err)
	}
	names, _, err := members(status)
	if err != nil {
		return err
	}
	var report wireReport
	if err := json.Unmarshal(status, &report); err != nil {
		return err
	}
	switch {
	case slices.Contains(names, "metrics") && len(report.Metrics) == 0:
		return errors.New("an empty list of metrics is sent")
	case report.Time == nil || !stamp.MatchString(*report.Time):
		return fmt.Errorf("the time is %s", cutText(status))
	}
	return errors.Join(checkKeys(names), checkNumbers(report, status), checkTime(*report.Time, got, before))
}

func checkKeys(names []string) error {
	for _, name := range names {
		if !slices.Contains(keys, name) {
			return fmt.Errorf("the report has the unknown key %s", name)
		}
	}
	if !slices.IsSortedFunc(names, func(a, b string) int { return slices.Index(keys, a) - slices.Index(keys, b) }) {
		return fmt.Errorf("the keys stand in the order %v", names)
	}
	return nil
}

// checkNumbers wants whole numbers without fraction and exponent.
func checkNumbers(report wireReport, status []byte) error {
	numbers := 0
	for _, number := range []*int{report.Progress, report.ETA} {
		if number != nil {
			numbers++
		}
	}
	compact := bytes.ReplaceAll(status, []byte(" "), nil)
	if len(whole.FindAll(compact, -1)) < numbers {
		return fmt.Errorf("a number is not written as a whole one: %s", cutText(status))
	}
	return nil
}

// checkTime wants a time of about now that is later than that of another report before.
func checkTime(text string, got endpoint.Request, before *endpoint.Request) error {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return err
	}
	if age := got.Start.Sub(at); age < -time.Second || age > time.Minute {
		return fmt.Errorf("the time %s lies %v before the request", text, age)
	}
	if before == nil || before.Method != http.MethodPost || bytes.Equal(before.Body, got.Body) {
		return nil
	}
	var last struct {
		Status wireReport `json:"trainerStatus"`
	}
	if err := json.Unmarshal(before.Body, &last); err == nil && last.Status.Time != nil && *last.Status.Time >= text {
		return fmt.Errorf("the time %s is not later than that of the report before, %s", text, *last.Status.Time)
	}
	return nil
}

// members lists the keys of an object in their order, and the value of the last.
func members(object []byte) (names []string, last json.RawMessage, err error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.Token(); err != nil {
		return nil, nil, err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, nil, err
		}
		text, _ := name.(string)
		names = append(names, text)
		if err := decoder.Decode(&last); err != nil {
			return nil, nil, err
		}
	}
	return names, last, nil
}
