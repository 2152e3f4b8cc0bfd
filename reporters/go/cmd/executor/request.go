// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"

	milepost "github.com/milepost-dev/milepost/reporters/go"
	"github.com/milepost-dev/milepost/reporters/go/internal/jsonparts"
)

// request is one line of the runner.
type request struct {
	ID          int       `json:"id"`
	Op          string    `json:"op"`
	Options     options   `json:"options"`
	ManualClock bool      `json:"manualClock"`
	Now         float64   `json:"now"`
	Step        *number   `json:"step"`
	TotalSteps  *number   `json:"totalSteps"`
	Progress    *number   `json:"progress"`
	ETA         *number   `json:"eta"`
	Metrics     metrics   `json:"metrics"`
	Keep        []string  `json:"keep"`
	Message     string    `json:"message"`
	Total       *int64    `json:"total"`
	Items       int64     `json:"items"`
	BreakAt     int64     `json:"breakAt"`
	Pause       float64   `json:"pause"`
	FailAt      int64     `json:"failAt"`
	Steps       []request `json:"steps"`
	Raise       string    `json:"raise"`
	Calls       int       `json:"calls"`
	Threads     int       `json:"threads"`
	How         string    `json:"how"`
	Code        int       `json:"code"`
}

type options struct {
	Rank       *int     `json:"rank"`
	Interval   *float64 `json:"interval"`
	TimeScale  float64  `json:"timeScale"`
	LimitScale float64  `json:"limitScale"`
	Signals    *bool    `json:"signals"`
	Log        string   `json:"log"`
}

// parts are what a report says. A step without total, and the other way round, is what Go programs
// write as Step(step, 0) or not at all.
func (r request) parts() (parts []milepost.Part) {
	if r.Step != nil {
		total := int64(0)
		if r.TotalSteps != nil {
			total = int64(*r.TotalSteps)
		}
		parts = append(parts, milepost.Step(int64(*r.Step), total))
	}
	if r.Progress != nil {
		parts = append(parts, milepost.Percent(float64(*r.Progress)))
	}
	if r.ETA != nil {
		parts = append(parts, remaining(float64(*r.ETA))...)
	}
	parts = append(parts, r.Metrics...)
	if len(r.Keep) > 0 {
		parts = append(parts, milepost.Keep(r.Keep...))
	}
	return parts
}

// remaining is what a Go program can say: a duration is neither infinite nor not a number.
func remaining(seconds float64) []milepost.Part {
	switch {
	case math.IsNaN(seconds), math.IsInf(seconds, 1):
		return nil
	case math.IsInf(seconds, -1):
		return []milepost.Part{milepost.Remaining(math.MinInt64)}
	}
	return []milepost.Part{milepost.Remaining(time.Duration(seconds * float64(time.Second)))}
}

// number is a JSON number or {"$float":"…"}.
type number float64

func (n *number) UnmarshalJSON(text []byte) error {
	value, err := jsonparts.Value(text, special)
	switch v := value.(type) {
	case int64:
		*n = number(v)
	case float64:
		*n = number(v)
	default:
		return fmt.Errorf("%s is no number", text)
	}
	return err
}

// metrics are the members of a JSON object in their order.
type metrics []milepost.Part

func (m *metrics) UnmarshalJSON(text []byte) error {
	parts, err := jsonparts.Decode(text, special)
	*m = metrics(parts)
	return err
}

// special is what JSON cannot say.
func special(key string, value any) (any, bool) {
	text, _ := value.(string)
	switch key {
	case "$float":
		f, err := strconv.ParseFloat(text, 64)
		return f, err == nil
	case "$int":
		i, ok := new(big.Int).SetString(text, 10)
		if ok && i.IsInt64() {
			return i.Int64(), true
		}
		return i, ok
	case "$self":
		return holdsItself(value)
	case "$twice":
		return holdsTwice(value)
	}
	return struct{}{}, key == "$opaque" // no number in it
}

// holdsItself is a map that holds itself under each of the names.
func holdsItself(names any) (any, bool) {
	list, ok := names.([]any)
	graph := map[string]any{"x": 1}
	for _, name := range list {
		text, _ := name.(string)
		graph[text] = graph
	}
	return graph, ok
}

// holdsTwice is maps within each other, each of which holds the next one twice.
func holdsTwice(depth any) (any, bool) {
	levels, ok := depth.(int64)
	var graph any = 1
	for range levels {
		graph = map[string]any{"a": graph, "b": graph}
	}
	return graph, ok
}
