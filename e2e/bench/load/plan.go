// SPDX-License-Identifier: Apache-2.0

// Package load sends progress reports to a server the way training pods do, and measures the
// answers.
//
// It owns the bytes on the wire, the moment each report is due, the client's patience and the
// figures. It does not own the server, the tokens, or what the figures should be.
package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// Mode says when the next report of a group is due.
type Mode string

const (
	// Closed sends the next report as soon as the last one is answered, on every connection.
	Closed Mode = "closed"
	// Open sends at a fixed rate, whatever the answers. Latency counts from the moment a report was
	// due, so that a server which stalls is charged for everything it delays.
	Open Mode = "open"
	// Periodic gives every target a client of its own that reports at an interval with jitter.
	Periodic Mode = "periodic"
)

// Target is one pod that reports.
type Target struct {
	Job   string `json:"job"`   // TrainJob, the key of staleness
	Path  string `json:"path"`  // of the status endpoint
	Token string `json:"token"` // of the pod, for this job
}

// Group is a set of clients that behave alike and are measured together.
type Group struct {
	Name    string   `json:"name"`
	Mode    Mode     `json:"mode"`
	Targets []Target `json:"targets"`

	Connections int     `json:"connections,omitempty"` // closed and open: clients at work at a time
	Rate        float64 `json:"rate,omitempty"`        // open: reports per second

	Interval  time.Duration `json:"interval,omitempty"`  // periodic: between two reports of a target
	Jitter    float64       `json:"jitter,omitempty"`    // periodic: share of the interval, 0 to 1
	JobLength time.Duration `json:"jobLength,omitempty"` // periodic: jobs end, with a final report, at a random moment within it

	// Reconnect makes a new TLS connection for every report, as urllib does.
	Reconnect bool `json:"reconnect,omitempty"`
	// Untracked leaves the group out of the history: its reports pass each other, so that nobody could
	// tell which of them should be stored last.
	Untracked bool `json:"untracked,omitempty"`
	// Retry repeats a report that was refused with a Retry-After, once that has passed.
	Retry bool `json:"retry,omitempty"`
}

// Plan is everything a generator process needs to know.
type Plan struct {
	Address    string        `json:"address"`    // host:port
	ServerName string        `json:"serverName"` // that the certificate must carry
	CA         []byte        `json:"ca"`         // PEM
	Warmup     time.Duration `json:"warmup"`     // sent, not measured
	Duration   time.Duration `json:"duration"`   // measured
	Timeout    time.Duration `json:"timeout"`    // after which a client gives a report up
	Seed       uint64        `json:"seed"`       // of jitter and of the moments at which jobs end
	Sequence   uint32        `json:"sequence"`   // numbers above this one are given to the reports of each job
	Groups     []Group       `json:"groups"`
	History    string        `json:"history,omitempty"` // file that receives every accepted report
}

// Validate names the first thing that makes the plan impossible.
func (p *Plan) Validate() error {
	switch {
	case p.Address == "":
		return errors.New("the plan has no address")
	case p.Duration <= 0:
		return errors.New("the duration must be above 0")
	case p.Timeout <= 0:
		return errors.New("the timeout must be above 0")
	case len(p.Groups) == 0:
		return errors.New("the plan has no group")
	}
	for i := range p.Groups {
		if err := p.Groups[i].validate(); err != nil {
			return fmt.Errorf("group %q: %w", p.Groups[i].Name, err)
		}
	}
	return nil
}

func (g *Group) validate() error {
	if len(g.Targets) == 0 {
		return errors.New("no targets")
	}
	switch g.Mode {
	case Closed:
		if g.Connections < 1 {
			return errors.New("a closed loop needs connections")
		}
	case Open:
		if g.Connections < 1 || g.Rate <= 0 {
			return errors.New("an open loop needs connections and a rate above 0")
		}
	case Periodic:
		if g.Interval <= 0 || g.Jitter < 0 || g.Jitter > 1 {
			return errors.New("periodic reports need an interval above 0 and a jitter from 0 to 1")
		}
	default:
		return fmt.Errorf("unknown mode %q", g.Mode)
	}
	return nil
}

// ReadPlan reads a plan from a file.
func ReadPlan(path string) (*Plan, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the plan: %w", err)
	}
	plan := &Plan{}
	if err := json.Unmarshal(content, plan); err != nil {
		return nil, fmt.Errorf("decoding the plan: %w", err)
	}
	return plan, plan.Validate()
}

// Write puts the plan into a file only this user may read, since it carries tokens.
func (p *Plan) Write(path string) error {
	content, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encoding the plan: %w", err)
	}
	return os.WriteFile(path, content, 0o600)
}
