// SPDX-License-Identifier: Apache-2.0

package vectors

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// head is what all rows have.
type head struct {
	Name  string   `json:"name"`
	Needs []string `json:"needs"`
}

// derive makes cases of the tables whose rows can be seen from outside. One process works through
// all rows that need the same capabilities; where the environment matters, each row has its own.
func derive(t Table) ([]Case, error) {
	make, known := map[string]func(Table) ([]Case, error){
		"values":   perNeed(valueSteps),
		"progress": perNeed(progressSteps),
		"eta":      perNeed(etaSteps),
		"metrics":  perNeed(metricSteps),
		"statuses": perNeed(statusSteps),
		"messages": perNeed(messageSteps),
		"tokens":   perNeed(tokenSteps),
		"stored":   perNeed(storedSteps),
		"rank":     perRow(rankCase),
		"active":   perRow(activeCase),
	}[t.Table]
	if !known { // backoff, warnings and the like are seen in cases of their own
		return nil, nil
	}
	return make(t)
}

// perNeed groups rows by what they need.
func perNeed(steps func(row json.RawMessage, number int) ([]Step, error)) func(Table) ([]Case, error) {
	return func(t Table) ([]Case, error) {
		var cases []Case
		rows := map[string]int{}
		for _, raw := range t.Rows {
			var h head
			if err := json.Unmarshal(raw, &h); err != nil {
				return nil, err
			}
			group := strings.Join(append([]string{"rows"}, h.Needs...), "-")
			at := slices.IndexFunc(cases, func(c Case) bool { return c.ID == t.ID+"/"+group })
			if at < 0 {
				at = len(cases)
				cases = append(cases, Case{ID: t.ID + "/" + group, Title: "rows of the table", Duties: t.Duties, Needs: h.Needs, Steps: setUp(t.Table)})
			}
			more, err := steps(raw, rows[group])
			if err != nil {
				return nil, fmt.Errorf("row %q: %w", h.Name, err)
			}
			rows[group]++
			cases[at].Steps = append(cases[at].Steps, step("row", h.Name))
			cases[at].Steps = append(cases[at].Steps, more...)
		}
		return cases, nil
	}
}

func perRow(fill func(c *Case, row json.RawMessage) error) func(Table) ([]Case, error) {
	return func(t Table) ([]Case, error) {
		var cases []Case
		for _, raw := range t.Rows {
			var h head
			if err := json.Unmarshal(raw, &h); err != nil {
				return nil, err
			}
			c := Case{ID: t.ID + "/" + strings.ReplaceAll(h.Name, " ", "-"), Title: h.Name, Duties: t.Duties, Needs: h.Needs}
			if err := fill(&c, raw); err != nil {
				return nil, fmt.Errorf("row %q: %w", h.Name, err)
			}
			cases = append(cases, c)
		}
		return cases, nil
	}
}

type object map[string]any

// step is an action with its arguments.
func step(action string, arguments any) Step {
	text, err := encode(arguments)
	if err != nil {
		panic(err) // arguments are made here, of what was JSON before
	}
	return Step{action, text}
}

// setUp creates a reporter that sends at once; the clock of rates stands.
func setUp(table string) []Step {
	if table == "eta" {
		return nil // each row has a reporter of its own
	}
	return []Step{step("create", object{"options": object{"interval": 0, "timeScale": 0.1}, "manualClock": true})}
}

func valueSteps(row json.RawMessage, number int) ([]Step, error) {
	var r struct {
		Value json.RawMessage `json:"value"`
		Want  *string         `json:"want"`
	}
	if err := json.Unmarshal(row, &r); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("row%d", number)
	steps := []Step{step("report", object{"metrics": object{name: r.Value}})}
	if r.Want == nil {
		return append(steps, step("next", object{"metrics": nil}), step("logs", []object{{"has": []string{name}, "times": 1}})), nil
	}
	return append(steps, step("next", object{"metrics": [][2]string{{name, *r.Want}}})), nil
}

// asReport keeps the members of a row that the request report has.
func asReport(row json.RawMessage) (object, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(row, &all); err != nil {
		return nil, err
	}
	report := object{}
	for _, name := range []string{"step", "totalSteps", "progress", "eta", "metrics", "keep"} {
		if value, ok := all[name]; ok {
			report[name] = value
		}
	}
	return report, nil
}

func progressSteps(row json.RawMessage, _ int) ([]Step, error) {
	var r struct {
		Want json.RawMessage `json:"want"`
	}
	if err := json.Unmarshal(row, &r); err != nil {
		return nil, err
	}
	report, err := asReport(row)
	return []Step{step("report", report), {"next", r.Want}}, err
}

func etaSteps(row json.RawMessage, _ int) ([]Step, error) {
	var r struct {
		Reports []json.RawMessage `json:"reports"`
	}
	if err := json.Unmarshal(row, &r); err != nil {
		return nil, err
	}
	steps := []Step{step("create", object{"options": object{"interval": 0}, "manualClock": true})}
	for _, raw := range r.Reports {
		var one struct {
			At   float64 `json:"at"`
			Want *int    `json:"want"`
		}
		if err := json.Unmarshal(raw, &one); err != nil {
			return nil, err
		}
		report, err := asReport(raw)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step("clock", object{"now": one.At}), step("report", report), step("next", object{"eta": one.Want}))
	}
	return append(steps, step("close", object{})), nil
}

func metricSteps(row json.RawMessage, _ int) ([]Step, error) {
	var r struct {
		Want [][2]string `json:"want"`
	}
	if err := json.Unmarshal(row, &r); err != nil {
		return nil, err
	}
	report, err := asReport(row)
	want := object{"metrics": r.Want}
	if len(r.Want) == 0 {
		want["metrics"] = nil
	}
	return []Step{step("report", report), step("next", want)}, err
}

func statusSteps(row json.RawMessage, number int) ([]Step, error) {
	var r struct {
		Status int    `json:"status"`
		Want   string `json:"want"`
	}
	if err := json.Unmarshal(row, &r); err != nil {
		return nil, err
	}
	same := object{"progress": number}
	steps := []Step{
		step("server", object{"answers": []object{{"status": r.Status}}}),
		step("report", object{"progress": number}),
		step("next", same),
	}
	if r.Want == "retry" || r.Want == "reauthenticate" {
		return append(steps, step("next", same)), nil
	}
	return append(steps, step("quiet", object{"for": 0.25})), nil
}

func messageSteps(row json.RawMessage, number int) ([]Step, error) {
	var r struct {
		Body string `json:"body"`
		Want string `json:"want"`
	}
	if err := json.Unmarshal(row, &r); err != nil {
		return nil, err
	}
	steps := []Step{
		step("server", object{"answers": []object{{"status": 403, "body": r.Body}}}),
		step("report", object{"progress": number}),
		step("next", object{}),
	}
	if r.Want != "" {
		steps = append(steps, step("logs", []object{{"has": []string{"403", r.Want}, "times": 1}}))
	}
	// A success in between makes the next refusal worth a line again.
	return append(steps, step("report", object{"progress": number}), step("next", object{})), nil
}

func tokenSteps(row json.RawMessage, number int) ([]Step, error) {
	var r struct {
		File string  `json:"file"`
		Want *string `json:"want"`
	}
	if err := json.Unmarshal(row, &r); err != nil {
		return nil, err
	}
	steps := []Step{step("write", object{"token": r.File}), step("report", object{"progress": number})}
	if r.Want != nil {
		return append(steps, step("next", object{"token": *r.Want})), nil
	}
	return append(steps,
		step("quiet", object{"for": 0.2}),
		step("write", object{"token": "good"}),
		step("next", object{"token": "good", "progress": number}),
	), nil
}

func storedSteps(row json.RawMessage, _ int) ([]Step, error) {
	var r struct {
		Status int             `json:"status"`
		Body   string          `json:"body"`
		Want   json.RawMessage `json:"want"`
	}
	if err := json.Unmarshal(row, &r); err != nil {
		return nil, err
	}
	return []Step{
		step("server", object{"answers": []object{{"status": r.Status, "body": r.Body}}}),
		step("stored", object{"want": object{"stored": r.Want}}),
		step("next", object{"method": "GET", "token": "token"}),
	}, nil
}

func rankCase(c *Case, row json.RawMessage) error {
	var r struct {
		Environment map[string]*string `json:"environment"`
		Option      *int               `json:"option"`
		Want        bool               `json:"want"`
	}
	if err := json.Unmarshal(row, &r); err != nil {
		return err
	}
	options := object{}
	if r.Option != nil {
		options["rank"] = *r.Option
	}
	c.Environment = r.Environment
	c.Steps = append([]Step{step("create", object{"options": options, "want": object{"active": r.Want}})}, oneReport(r.Want, []string{"rank"})...)
	return nil
}

func activeCase(c *Case, row json.RawMessage) error {
	var r struct {
		Environment map[string]*string `json:"environment"`
		Want        struct {
			Active bool     `json:"active"`
			Line   []string `json:"line"`
		} `json:"want"`
	}
	if err := json.Unmarshal(row, &r); err != nil {
		return err
	}
	c.Environment = r.Environment
	c.Steps = []Step{step("create", object{"want": object{"active": r.Want.Active}})}
	if r.Want.Active && len(r.Environment) > 0 {
		return nil // its URL leads nowhere
	}
	c.Steps = append(c.Steps, oneReport(r.Want.Active, r.Want.Line)...)
	return nil
}

// oneReport sends a report that arrives, or one that does nothing but to leave a line.
func oneReport(arrives bool, line []string) []Step {
	if arrives {
		return []Step{step("report", object{"progress": 1}), step("next", object{"progress": 1})}
	}
	return []Step{
		step("report", object{"progress": 1}),
		step("complete", object{}),
		step("stored", object{"want": object{"stored": nil}}),
		step("fail", object{}),
		step("close", object{}),
		step("quiet", object{"for": 0.1}),
		step("logs", []object{{"times": 1}, {"has": line, "times": 1}}),
	}
}
