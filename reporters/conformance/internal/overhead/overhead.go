// SPDX-License-Identifier: Apache-2.0

// Package overhead measures what ways of reporting cost real training loops in Python.
//
// It owns the endpoints that the loops report to, the order of the measurements and the table. It does not own the loops:
// reporters/python/frameworks/overhead.py trains.
package overhead

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/milepost-dev/milepost/reporters/conformance/internal/endpoint"
)

// Way is a training loop and how it reports.
type Way struct {
	Loop string `json:"loop"`
	Way  string `json:"way"`
	Text string `json:"text"`
}

// None is the way that the others are compared with.
const None = "none"

// Ways are what is measured; those of a loop begin with the one that reports nothing.
var Ways = []Way{
	{"plain", None, "own loop, no reporter"},
	{"plain", "milepost", "own loop, `milepost.start().report`"},
	{"plain", "milepost.kubeflow", "own loop, `update_trainjob_status` of `milepost.kubeflow`"},
	{"plain", "kubeflow", "own loop, `update_trainjob_status` of the Kubeflow SDK"},
	{"trainer", None, "Transformers' Trainer, no reporter"},
	{"trainer", "milepost", "Transformers' Trainer, `KubeflowTrainerCallback` of `milepost`"},
	{"trainer", "builtin", "Transformers' Trainer, its own callback"},
}

// Endpoints are the kinds of servers. A slow one answers after 3 s; a dead one does not even take connections.
var Endpoints = []string{"live", "slow", "dead"}

const slowness = 3 // seconds

// Options says how to measure.
type Options struct {
	Python  string // interpreter with everything installed
	Script  string
	Seconds float64 // of training in each measurement
	Rounds  int
	Loops   []string // none for all
	Out     io.Writer
}

// Sample is one measurement.
type Sample struct {
	Way      string  `json:"way"`
	Loop     string  `json:"loop"`
	Endpoint string  `json:"endpoint"`
	Round    int     `json:"round"`
	Steps    int     `json:"steps"`
	Seconds  float64 `json:"seconds"`
	CPU      float64 `json:"cpuSeconds"` // of the process, the thread that sends included
}

// PerThousand is seconds per 1,000 steps.
func (s Sample) PerThousand() float64 { return 1000 * s.Seconds / float64(s.Steps) }

// Run is all that was measured in one go.
type Run struct {
	Conditions Conditions `json:"conditions"`
	Samples    []Sample   `json:"samples"`
}

// Measure goes through all ways and endpoints in every round, so that what disturbs the machine disturbs all of them.
func Measure(ctx context.Context, o Options) (run Run, err error) {
	if o.Script, err = filepath.Abs(o.Script); err != nil { // each measurement has a folder of its own
		return run, err
	}
	run.Conditions = conditions(o)
	for round := range o.Rounds {
		for _, kind := range Endpoints {
			for _, way := range turned(Ways, round) {
				if len(o.Loops) > 0 && !slices.Contains(o.Loops, way.Loop) {
					continue
				}
				sample, versions, err := measure(ctx, o, way, kind)
				if err != nil {
					return run, fmt.Errorf("measuring %s with a %s endpoint: %w", way.Text, kind, err)
				}
				sample.Round = round + 1
				run.Conditions.Versions = versions
				run.Samples = append(run.Samples, sample)
				fmt.Fprintf(o.Out, "round %d, %s endpoint, %s: %s s\n", sample.Round, kind, way.Text, figures(sample.PerThousand()))
			}
		}
	}
	return run, nil
}

// turned lets another way be first in each round.
func turned(ways []Way, round int) []Way {
	at := round % len(ways)
	return append(slices.Clone(ways[at:]), ways[:at]...)
}

// measure lets one process train, with a server of its own.
func measure(ctx context.Context, o Options, way Way, kind string) (s Sample, versions map[string]string, err error) {
	folder, err := os.MkdirTemp("", "milepost-overhead-")
	if err != nil {
		return s, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	variables, stop, err := serve(folder, kind)
	if err != nil {
		return s, nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	cmd := exec.CommandContext(ctx, o.Python, o.Script, way.Loop, way.Way, "--seconds", fmt.Sprint(o.Seconds))
	cmd.Dir = folder
	cmd.Env = append(environment(), variables...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return s, nil, fmt.Errorf("%w\n%s%s", err, out, said.Bytes())
	}
	s = Sample{Way: way.Way, Loop: way.Loop, Endpoint: kind}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	answer := struct {
		*Sample
		Versions map[string]string `json:"versions"`
	}{Sample: &s}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &answer); err != nil {
		return s, nil, fmt.Errorf("reading the answer: %w", err)
	}
	if s.Steps < 1 {
		return s, nil, errors.New("no step ended")
	}
	return s, answer.Versions, nil
}

// environment leaves out what would lead reporters, proxies and threads astray.
func environment() []string {
	kept := slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(strings.ToUpper(pair), "=")
		return strings.HasPrefix(name, "KUBEFLOW_") || strings.HasSuffix(name, "_PROXY") || strings.HasPrefix(name, "MILEPOST_") ||
			slices.Contains([]string{"RANK", "LOCAL_RANK", "PYTHONPATH", "DISABLE_KUBEFLOW_INTEGRATION"}, name)
	})
	return append(kept, "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1", "HF_HUB_OFFLINE=1")
}

// serve starts a server of a kind and says with which variables a training finds it.
func serve(folder, kind string) (variables []string, stop func() error, err error) {
	authority, err := endpoint.NewAuthority("a")
	if err != nil {
		return nil, nil, err
	}
	token, ca := filepath.Join(folder, "token"), filepath.Join(folder, "ca.crt")
	if err := errors.Join(os.WriteFile(token, []byte("token"), 0o600), os.WriteFile(ca, authority.PEM, 0o600)); err != nil {
		return nil, nil, err
	}
	port, stop, err := listen(authority, kind)
	if err != nil {
		return nil, nil, err
	}
	url := "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) + "/status"
	return []string{
		"KUBEFLOW_TRAINER_SERVER_URL=" + url,
		"KUBEFLOW_TRAINER_SERVER_CA_CERT=" + ca,
		"KUBEFLOW_TRAINER_SERVER_TOKEN=" + token,
	}, stop, nil
}

func listen(authority *endpoint.Authority, kind string) (port int, stop func() error, err error) {
	if kind == "dead" {
		dead, err := endpoint.Unanswer()
		if err != nil {
			return 0, nil, err
		}
		return dead.Port, dead.Close, nil
	}
	server, err := endpoint.Start(endpoint.Config{Listen: []string{"127.0.0.1"}, Hosts: []string{"127.0.0.1"}, Authority: authority})
	if err != nil {
		return 0, nil, err
	}
	if kind == "slow" {
		server.Script(nil, endpoint.Answer{Delay: slowness})
	}
	return server.Port, server.Stop, nil
}

// Conditions are what numbers depend on.
type Conditions struct {
	Time     time.Time         `json:"time"`
	CPU      string            `json:"cpu"`
	Cores    int               `json:"cores"`
	Load     string            `json:"load"` // of the machine before the first measurement
	Python   string            `json:"python"`
	Versions map[string]string `json:"versions"`
	Seconds  float64           `json:"secondsOfEach"`
	Rounds   int               `json:"rounds"`
}
