// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// peerModule is the program that holds the types of Kubeflow Trainer. Its go.mod pins their version.
const peerModule = "peer"

// peerRequest and peerAnswer mirror the program's protocol.
type peerRequest struct {
	Kind    string          `json:"kind"`
	Object  json.RawMessage `json:"object,omitempty"`
	Seed    int64           `json:"seed,omitempty"`
	Full    bool            `json:"full,omitempty"`
	Default bool            `json:"default,omitempty"`
}

type peerAnswer struct {
	Object   json.RawMessage `json:"object"`
	Problems []string        `json:"problems"`
	Error    string          `json:"error"`
}

// theirs is started once: building it takes longer than all questions together.
var theirs peer

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard()) // the client library wants one
	code := m.Run()
	if err := theirs.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the peer:", err)
		code = 1
	}
	os.Exit(code)
}

type peer struct {
	start    sync.Once
	startErr error
	dir      string
	process  *exec.Cmd
	stdin    io.WriteCloser

	mu       sync.Mutex
	requests *json.Encoder
	answers  *json.Decoder
}

// ask sends one request and returns the answer. The peer answers in order.
func (p *peer) ask(t *testing.T, req peerRequest) peerAnswer {
	t.Helper()
	p.start.Do(func() { p.startErr = p.run() })
	if p.startErr != nil {
		t.Fatalf("starting the peer: %v", p.startErr)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.requests.Encode(req); err != nil {
		t.Fatalf("asking the peer: %v", err)
	}
	var got peerAnswer
	if err := p.answers.Decode(&got); err != nil {
		t.Fatalf("reading the peer's answer: %v", err)
	}
	if got.Error != "" {
		t.Fatalf("the peer refuses %s: %s", req.Kind, got.Error)
	}
	return got
}

func (p *peer) run() error {
	dir, err := os.MkdirTemp("", "milepost-compat-")
	if err != nil {
		return err
	}
	p.dir = dir
	program := filepath.Join(dir, "peer")
	if out, err := inPeerModule("build", "-o", program, ".").CombinedOutput(); err != nil {
		return fmt.Errorf("building: %w\n%s", err, out)
	}
	p.process = exec.Command(program)
	p.process.Stderr = os.Stderr
	stdin, err := p.process.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := p.process.StdoutPipe()
	if err != nil {
		return err
	}
	p.stdin, p.requests, p.answers = stdin, json.NewEncoder(stdin), json.NewDecoder(stdout)
	return p.process.Start()
}

func (p *peer) stop() error {
	var errs []error
	if p.stdin != nil {
		errs = append(errs, p.stdin.Close(), p.process.Wait())
	}
	if p.dir != "" {
		errs = append(errs, os.RemoveAll(p.dir))
	}
	return errors.Join(errs...)
}

// inPeerModule prepares a go command outside the workspace, whose library versions do not
// compile with the types of Kubeflow Trainer.
func inPeerModule(args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir = peerModule
	cmd.Env = append(os.Environ(), "GOWORK=off")
	return cmd
}

// upstreamDir is the folder of the pinned module github.com/kubeflow/trainer/v2.
var upstreamDir = sync.OnceValues(func() (string, error) {
	const module = "github.com/kubeflow/trainer/v2"
	if out, err := inPeerModule("mod", "download", module).CombinedOutput(); err != nil {
		return "", fmt.Errorf("downloading %s: %w\n%s", module, err, out)
	}
	out, err := inPeerModule("list", "-m", "-f", "{{.Dir}}", module).Output()
	return strings.TrimSpace(string(out)), err
})

// upstreamPath joins a path of Kubeflow Trainer's repository to where it is on this machine.
func upstreamPath(t *testing.T, elem ...string) string {
	t.Helper()
	dir, err := upstreamDir()
	if err != nil {
		t.Fatalf("finding the module of Kubeflow Trainer: %v", err)
	}
	return filepath.Join(append([]string{dir}, elem...)...)
}
