// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/milepost-dev/milepost/reporters/conformance/internal/endpoint"
	"github.com/milepost-dev/milepost/reporters/conformance/internal/vectors"
)

// reportPath is where reports of the cases go.
const reportPath = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs/conformance/status"

// play is one case under way.
type play struct {
	test        vectors.Case
	language    *Language
	folder      string // of the token and the CA file
	server      *endpoint.Endpoint
	hosts       []string
	authorities map[string]*endpoint.Authority
	environment map[string]string
	process     *process
	finished    bool      // whether the end of the process was awaited
	row         string    // of a table
	cursor      int       // requests that were looked at
	asked       time.Time // when the last request to the executor began
	clock       clock
}

// run plays a case and returns what was wrong.
func run(ctx context.Context, l *Language, test vectors.Case, slow clock) (err error) {
	p := &play{test: test, language: l, clock: slow}
	if err := p.open(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close(err)) }()
	if p.process, err = l.start(ctx, p.environment, p.clock); err != nil {
		return err
	}
	for i, step := range test.Steps {
		if err := p.do(step); err != nil {
			return p.explain(fmt.Errorf("step %d (%s): %w", i+1, step.Action, err))
		}
	}
	if err := p.finish(); err != nil {
		return p.explain(err)
	}
	return nil
}

func (p *play) do(step vectors.Step) error {
	if action, known := actions[step.Action]; known {
		return action(p, step.Arguments)
	}
	if operations[step.Action] {
		return p.ask(step.Action, step.Arguments)
	}
	return errors.New("there is no such action")
}

// open starts the server and writes the files.
func (p *play) open() (err error) {
	if p.folder, err = os.MkdirTemp("", "milepost-conformance-"); err != nil {
		return err
	}
	p.authorities = map[string]*endpoint.Authority{}
	for _, name := range []string{"a", "b"} {
		if p.authorities[name], err = endpoint.NewAuthority(name); err != nil {
			return err
		}
	}
	config := p.config()
	p.hosts = config.Hosts
	if p.server, err = endpoint.Start(config); err != nil {
		return err
	}
	if err := p.script(serverChange{Answers: p.test.Server.Answer, Then: p.test.Server.Then}); err != nil {
		return err
	}
	if mode := p.test.Server.Mode; mode != "" {
		if err := p.server.SetMode(endpoint.Mode(mode)); err != nil {
			return err
		}
	}
	p.fillEnvironment()
	return errors.Join(
		os.WriteFile(p.path("token"), []byte("token\n"), 0o600),
		os.WriteFile(p.path("ca.crt"), p.authorities["a"].PEM, 0o600),
		os.WriteFile(p.path("system.crt"), p.authorities["a"].PEM, 0o600), // for variables that name roots of the system
	)
}

func (p *play) config() endpoint.Config {
	s := p.test.Server
	config := endpoint.Config{Listen: s.Listen, Hosts: s.Hosts, Authority: p.authorities["a"], TLS11: s.TLS11, HTTP2: s.HTTP2}
	if len(config.Listen) == 0 {
		config.Listen = []string{"127.0.0.1"}
	}
	if len(config.Hosts) == 0 {
		config.Hosts = append([]string{p.host()}, config.Listen...)
	}
	return config
}

// host is the host of the URL.
func (p *play) host() string {
	switch s := p.test.Server; {
	case s.Host != "":
		return s.Host
	case len(s.Listen) > 0:
		return s.Listen[0]
	}
	return "127.0.0.1"
}

func (p *play) path(name string) string { return filepath.Join(p.folder, name) }

func (p *play) fillEnvironment() {
	p.environment = map[string]string{
		"KUBEFLOW_TRAINER_SERVER_URL":     "https://" + net.JoinHostPort(p.host(), strconv.Itoa(p.server.Port)) + reportPath,
		"KUBEFLOW_TRAINER_SERVER_CA_CERT": p.path("ca.crt"),
		"KUBEFLOW_TRAINER_SERVER_TOKEN":   p.path("token"),
	}
	for name, value := range p.test.Environment {
		delete(p.environment, name)
		if value != nil {
			p.environment[name] = strings.ReplaceAll(*value, "{folder}", p.folder)
		}
	}
}

// close ends what the case started.
func (p *play) close(failure error) error {
	if p.process != nil && (failure != nil || !p.finished) {
		p.process.kill()
	}
	var err error
	if p.server != nil {
		err = p.server.Stop()
	}
	return errors.Join(err, os.RemoveAll(p.folder))
}

// finish ends an executor as a program ends that is done, and checks what is left.
func (p *play) finish() error {
	if !p.finished {
		if err := p.process.stdin.Close(); err != nil {
			return err
		}
		p.asked = time.Now()
		if err := p.ended(fmt.Appendf(nil, `{"within": %g, "code": 0}`, p.language.patience)); err != nil {
			return fmt.Errorf("at the end: %w", err)
		}
	}
	for _, r := range p.server.Requests()[p.cursor:] {
		return fmt.Errorf("at the end: a request that no step asked for: %s %s", r.Method, r.Body)
	}
	return nil
}

// explain adds what the executor said, because it may be gone.
func (p *play) explain(err error) error {
	var out strings.Builder
	if p.row != "" {
		fmt.Fprintf(&out, "row %q, ", p.row)
	}
	out.WriteString(err.Error())
	for i, r := range p.server.Requests() {
		fmt.Fprintf(&out, "\n  request %d at %s: %s %s", i+1, r.Start.Format("05.000"), r.Method, cutText(r.Body))
	}
	if !p.finished {
		if answer, asked := p.process.ask("logs", nil); asked == nil {
			var lines []logLine
			_ = json.Unmarshal(answer["logs"], &lines)
			for _, line := range lines {
				fmt.Fprintf(&out, "\n  log %s: %s", line.Level, line.Message)
			}
		}
	}
	if said := strings.TrimSpace(p.process.stderr.String()); said != "" {
		fmt.Fprintf(&out, "\n  stderr: %s", cutText([]byte(said)))
	}
	return errors.New(out.String())
}

func cutText(text []byte) string {
	const most = 400
	text = bytes.ToValidUTF8(text, []byte("?"))
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}

// operations are the requests of the protocol that can stand in a step; the others have actions.
var operations = map[string]bool{
	"create": true, "clock": true, "report": true, "complete": true, "fail": true, "close": true, "stored": true,
	"track": true, "scope": true, "measure": true, "hammer": true, "fork": true, "handle": true,
}

// ask sends a request to the executor. "want" holds fields of the answer, "takes" bounds in seconds.
func (p *play) ask(op string, arguments json.RawMessage) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &fields); err != nil {
		return err
	}
	var own struct {
		Want  map[string]json.RawMessage `json:"want"`
		Takes bounds                     `json:"takes"`
	}
	if err := json.Unmarshal(arguments, &own); err != nil {
		return err
	}
	fields = maps.Clone(fields)
	delete(fields, "want")
	delete(fields, "takes")
	fields, err := p.clock.arguments(op, fields)
	if err != nil {
		return err
	}
	p.asked = time.Now()
	answer, err := p.process.ask(op, fields)
	if err != nil {
		return err
	}
	if raised := answer["raised"]; raised != nil && string(raised) != "null" && own.Want["raised"] == nil {
		return fmt.Errorf("the call raised %s (D3)", raised)
	}
	return errors.Join(compareAnswer(answer, own.Want), p.clock.bounds(own.Takes).check("the call took", time.Since(p.asked)))
}

func compareAnswer(answer, want map[string]json.RawMessage) error {
	for name, value := range want {
		if raised := answer[name] != nil && string(answer[name]) != "null"; name == "raised" {
			if fmt.Sprint(raised) != string(value) {
				return fmt.Errorf("raised: %v, want %s", raised, value)
			}
			continue
		}
		var bound bounds
		if err := json.Unmarshal(value, &bound); err == nil && bound != (bounds{}) {
			var number float64
			if err := json.Unmarshal(answer[name], &number); err != nil {
				return fmt.Errorf("%s of the answer is %s, want a number", name, answer[name])
			}
			if err := bound.number(name+" of the answer is", number); err != nil {
				return err
			}
			continue
		}
		if !sameJSON(answer[name], value) {
			return fmt.Errorf("%s of the answer is %s, want %s", name, answer[name], value)
		}
	}
	return nil
}
