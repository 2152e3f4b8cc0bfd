// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/milepost-dev/milepost/reporters/conformance/internal/endpoint"
)

// actions are the steps that the runner carries out by itself.
var actions map[string]func(*play, json.RawMessage) error

func init() {
	actions = map[string]func(*play, json.RawMessage) error{
		"row":         func(p *play, a json.RawMessage) error { return json.Unmarshal(a, &p.row) },
		"next":        (*play).next,
		"skip":        (*play).skip,
		"quiet":       (*play).quiet,
		"pause":       (*play).pause,
		"write":       (*play).write,
		"server":      (*play).change,
		"connections": (*play).connections,
		"held":        (*play).held,
		"logs":        (*play).logs,
		"stderr":      (*play).standardError,
		"signal":      (*play).signal,
		"exit":        (*play).exit,
		"ended":       (*play).ended,
	}
}

// next takes the next request and compares it.
func (p *play) next(arguments json.RawMessage) error {
	want := wanted{Within: 5}
	if err := json.Unmarshal(arguments, &want); err != nil {
		return err
	}
	want = p.clock.wanted(want)
	if !p.server.Await(p.cursor+1, seconds(want.Within)) {
		return fmt.Errorf("no request came in %g s", want.Within)
	}
	requests := p.server.Requests()
	got := requests[p.cursor]
	at := moment{asked: p.asked}
	if p.cursor > 0 {
		at.before = &requests[p.cursor-1]
		var end time.Time
		if p.cursor > 1 {
			end = requests[p.cursor-2].End
		}
		at.begun = begun(*at.before, end)
	}
	p.cursor++
	if err := want.check(got, at); err != nil {
		return fmt.Errorf("request %d: %w", p.cursor, err)
	}
	if err := checkWire(got, at.before, p.language.Name); err != nil {
		return fmt.Errorf("request %d: %w (D19)", p.cursor, err)
	}
	return nil
}

// skip looks at all requests that came so far, up to one that matches, without comparing them.
func (p *play) skip(arguments json.RawMessage) error {
	var want struct {
		Until    wanted  `json:"until"`
		Within   float64 `json:"within"`
		Optional bool    `json:"optional"` // takes what came by now, whether it matches or not
	}
	want.Within = 5
	if err := json.Unmarshal(arguments, &want); err != nil {
		return err
	}
	if want.Optional {
		p.cursor = len(p.server.Requests())
		return nil
	}
	want.Until = p.clock.wanted(want.Until)
	end := time.Now().Add(p.clock.seconds(want.Within))
	var last error
	for {
		if !p.server.Await(p.cursor+1, time.Until(end)) {
			return fmt.Errorf("no such request came in %v; the last: %w", p.clock.seconds(want.Within), last)
		}
		got := p.server.Requests()[p.cursor]
		p.cursor++
		if last = want.Until.check(got, moment{asked: p.asked}); last == nil {
			return nil
		}
	}
}

// quiet checks that no request comes for a while.
func (p *play) quiet(arguments json.RawMessage) error {
	var want struct {
		For float64 `json:"for"`
	}
	if err := json.Unmarshal(arguments, &want); err != nil {
		return err
	}
	if p.server.Await(p.cursor+1, p.clock.seconds(want.For)) {
		return fmt.Errorf("a request came that should not: %s", p.server.Requests()[p.cursor].Body)
	}
	return nil
}

func (p *play) pause(arguments json.RawMessage) error {
	var length float64
	if err := json.Unmarshal(arguments, &length); err != nil {
		return err
	}
	<-time.After(p.clock.seconds(length)) // what the case waits for is that time goes by
	return nil
}

// files says what a file holds; null takes it away.
type files struct {
	Token json.RawMessage `json:"token"`
	CA    json.RawMessage `json:"ca"`   // names of authorities joined by +, or any other text
	Note  string          `json:"note"` // text in front of each certificate
}

func (p *play) write(arguments json.RawMessage) error {
	var f files
	if err := json.Unmarshal(arguments, &f); err != nil {
		return err
	}
	return errors.Join(p.writeFile("token", f.Token, ""), p.writeFile("ca.crt", f.CA, f.Note))
}

// writeFile replaces a file at once, as the kubelet does.
func (p *play) writeFile(name string, content json.RawMessage, note string) error {
	switch string(content) {
	case "":
		return nil
	case "null":
		return os.Remove(p.path(name))
	}
	var text string
	if err := json.Unmarshal(content, &text); err != nil {
		return err
	}
	var certificates []byte
	for part := range strings.SplitSeq(text, "+") {
		if authority := p.authorities[part]; authority != nil && name != "token" {
			certificates = append(append(certificates, note...), authority.PEM...)
		}
	}
	if len(certificates) > 0 {
		text = string(certificates)
	}
	fresh := p.path(name + ".new")
	if err := os.WriteFile(fresh, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, p.path(name))
}

// serverChange changes a running server.
type serverChange struct {
	Mode      string            `json:"mode"`
	Authority string            `json:"authority"`
	Answers   []json.RawMessage `json:"answers"`
	Then      json.RawMessage   `json:"then"`
}

func (p *play) change(arguments json.RawMessage) error {
	var change serverChange
	if err := json.Unmarshal(arguments, &change); err != nil {
		return err
	}
	if change.Authority != "" {
		if err := p.server.Certify(p.authorities[change.Authority], p.hosts); err != nil {
			return err
		}
	}
	if change.Mode != "" {
		if err := p.server.SetMode(endpoint.Mode(change.Mode)); err != nil {
			return err
		}
	}
	if change.Answers == nil && change.Then == nil {
		return nil
	}
	return p.script(change)
}

// script sets answers.
func (p *play) script(change serverChange) error {
	answers := make([]endpoint.Answer, len(change.Answers))
	for i, raw := range change.Answers {
		if err := json.Unmarshal(raw, &answers[i]); err != nil {
			return err
		}
	}
	var then endpoint.Answer
	if change.Then != nil {
		if err := json.Unmarshal(change.Then, &then); err != nil {
			return err
		}
	}
	for i := range answers {
		answers[i] = p.slow(answers[i])
	}
	p.server.Script(answers, p.slow(then))
	return nil
}

func (p *play) slow(a endpoint.Answer) endpoint.Answer {
	a.Delay *= float64(p.clock)
	a.Drip *= float64(p.clock)
	return a
}

func (p *play) connections(arguments json.RawMessage) error {
	var bound bounds
	if err := json.Unmarshal(arguments, &bound); err != nil {
		return err
	}
	p.await(func() bool { return float64(p.server.Connections()) >= bound.AtLeast })
	return bound.number("the number of connections is", float64(p.server.Connections()))
}

// held counts connections that a silent server still holds.
func (p *play) held(arguments json.RawMessage) error {
	var bound bounds
	if err := json.Unmarshal(arguments, &bound); err != nil {
		return err
	}
	p.await(func() bool { return float64(p.server.Held()) <= bound.AtMost })
	return bound.number("the number of open connections is", float64(p.server.Held()))
}

// await gives what happens beside the wire a little time.
func (p *play) await(is func() bool) {
	end := time.After(p.clock.duration(patience))
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !is() {
		select {
		case <-again.C:
		case <-end:
			return
		}
	}
}

const patience = 2 * time.Second

type logLine struct {
	Level   string `json:"level"`
	Message string `json:"message"`
}

// wantedLine is a log line that must be there so many times, any number of times from one when
// neither is given.
type wantedLine struct {
	Has     []string `json:"has"`
	Times   *int     `json:"times"`
	AtLeast int      `json:"atLeast"`
	AtMost  int      `json:"atMost"`
	Level   string   `json:"level"`
}

func (w wantedLine) check(lines []logLine) error {
	found := 0
	for _, line := range lines {
		if w.matches(line) {
			found++
		}
	}
	switch {
	case w.Times != nil && found != *w.Times:
		return fmt.Errorf("%d log lines with %q, want %d", found, w.Has, *w.Times)
	case w.Times == nil && found < max(1, w.AtLeast):
		return fmt.Errorf("%d log lines with %q, want at least %d", found, w.Has, max(1, w.AtLeast))
	case w.AtMost > 0 && found > w.AtMost:
		return fmt.Errorf("%d log lines with %q, want at most %d", found, w.Has, w.AtMost)
	}
	return nil
}

func (w wantedLine) matches(line logLine) bool {
	for _, word := range w.Has {
		if !strings.Contains(line.Message, word) {
			return false
		}
	}
	return w.Level == "" || line.Level == w.Level
}

// logs compares the log lines so far. The worker may be a little behind the wire.
func (p *play) logs(arguments json.RawMessage) error {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for end := time.Now().Add(p.clock.duration(patience)); ; <-again.C {
		answer, err := p.process.ask("logs", nil)
		if err != nil {
			return err
		}
		var lines []logLine
		if err := json.Unmarshal(answer["logs"], &lines); err != nil {
			return fmt.Errorf("reading the log lines: %w", err)
		}
		err = checkLines(arguments, lines)
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}

func checkLines(arguments json.RawMessage, lines []logLine) error {
	var want []wantedLine
	if err := json.Unmarshal(arguments, &want); err != nil {
		return err
	}
	var problems []error
	for _, w := range want {
		problems = append(problems, w.check(lines))
	}
	return errors.Join(problems...)
}

// standardError compares what the executor wrote to standard error.
func (p *play) standardError(arguments json.RawMessage) error {
	var lines []logLine
	for text := range strings.Lines(p.process.stderr.String()) {
		lines = append(lines, logLine{Message: text})
	}
	return checkLines(arguments, lines)
}

func (p *play) signal(arguments json.RawMessage) error {
	var name string
	if err := json.Unmarshal(arguments, &name); err != nil {
		return err
	}
	number, known := signalNumbers[name]
	if !known {
		return fmt.Errorf("there is no signal %s", name)
	}
	p.asked = time.Now()
	return p.process.cmd.Process.Signal(number)
}

// exit lets the program end itself.
func (p *play) exit(arguments json.RawMessage) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &fields); err != nil {
		return err
	}
	p.asked = time.Now()
	return p.process.send("exit", fields)
}

// ended waits for the end of the process and compares how it ended.
func (p *play) ended(arguments json.RawMessage) error {
	want := struct {
		Within  float64 `json:"within"`
		AtLeast float64 `json:"atLeast"` // seconds since the last request or signal
		Code    *int    `json:"code"`
		Failed  bool    `json:"failed"` // any code but 0
		Signal  string  `json:"signal"`
	}{Within: 10}
	if err := json.Unmarshal(arguments, &want); err != nil {
		return err
	}
	want.AtLeast *= float64(p.clock)
	rest, err := p.process.end(p.clock.seconds(want.Within) - time.Since(p.asked).Truncate(time.Millisecond))
	if err != nil {
		return err
	}
	p.finished = true
	took := time.Since(p.asked)
	state := p.process.cmd.ProcessState
	status, _ := state.Sys().(syscall.WaitStatus)
	switch {
	case len(rest) > 0:
		return fmt.Errorf("standard output holds %q, which is no answer (D3)", rest)
	case took < seconds(want.AtLeast):
		return fmt.Errorf("the process ended after %v, want at least %g s", took, want.AtLeast)
	case want.Code != nil && (status.Signaled() || state.ExitCode() != *want.Code):
		return fmt.Errorf("the process ended with %v, want exit status %d", state, *want.Code)
	case want.Failed && state.ExitCode() == 0:
		return fmt.Errorf("the process ended with %v, want an error", state)
	case want.Signal != "" && !endedBy(state, signalNumbers[want.Signal]):
		return fmt.Errorf("the process ended with %v, want SIG%s", state, want.Signal)
	}
	return nil
}

var signalNumbers = map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT}

// endedBy tells whether a process ended by a signal. The JVM turns one into its number plus 128.
func endedBy(state *os.ProcessState, number syscall.Signal) bool {
	status, _ := state.Sys().(syscall.WaitStatus)
	return status.Signaled() && status.Signal() == number || state.ExitCode() == 128+int(number)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
