// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// answerWithin is how long an executor may take for one request; no request takes longer than
// a flush and a slow machine.
const answerWithin = 30 * time.Second

// process is a running executor.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan []byte // of standard output
	stderr lockedBuffer
	ended  chan struct{}
	id     int
	within time.Duration // for an answer
}

// lockedBuffer may be read while the process writes.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// foreign are variables of the machine that would change what a reporter does.
var foreign = []string{
	"RANK", "LOCAL_RANK", "PET_NODE_RANK", "OMPI_COMM_WORLD_RANK", "JAX_PROCESS_ID", "SLURM_PROCID", "JOB_COMPLETION_INDEX",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
}

// start starts an executor with an environment.
func (l *Language) start(ctx context.Context, environment map[string]string, slow clock) (*process, error) {
	cmd := exec.CommandContext(ctx, l.Executor.Run[0], l.Executor.Run[1:]...)
	cmd.Dir = l.folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what the runner does not signal is left alone
	cmd.Env = slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return strings.HasPrefix(name, "KUBEFLOW_") || slices.Contains(foreign, strings.ToUpper(name))
	})
	for name, value := range environment {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	p := &process{cmd: cmd, lines: make(chan []byte), ended: make(chan struct{}), within: slow.duration(answerWithin)}
	cmd.Stderr = &p.stderr
	cmd.WaitDelay = time.Second // a child of the executor may still hold the pipe
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the executor: %w", err)
	}
	go p.read(stdout)
	return p, nil
}

// read passes on lines and then waits for the process.
func (p *process) read(stdout io.Reader) {
	defer close(p.ended)
	defer close(p.lines)
	reader := bufio.NewReader(stdout)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			p.lines <- line
		}
		if err != nil {
			_ = p.cmd.Wait()
			return
		}
	}
}

// send writes a request without waiting for an answer.
func (p *process) send(op string, fields map[string]json.RawMessage) error {
	p.id++
	request := map[string]any{"id": p.id, "op": op}
	for name, value := range fields {
		request[name] = value
	}
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if _, err := p.stdin.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("sending %s to the executor: %w", op, err)
	}
	return nil
}

var errUnsupported = errors.New("the executor does not support it")

// ask sends a request and returns the answer.
func (p *process) ask(op string, fields map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	if err := p.send(op, fields); err != nil {
		return nil, err
	}
	select {
	case line, ok := <-p.lines:
		if !ok {
			return nil, fmt.Errorf("the executor ended at %s", op)
		}
		return p.parse(op, line)
	case <-time.After(p.within):
		return nil, fmt.Errorf("no answer to %s in %v", op, p.within)
	}
}

func (p *process) parse(op string, line []byte) (map[string]json.RawMessage, error) {
	var answer map[string]json.RawMessage
	if err := json.Unmarshal(line, &answer); err != nil {
		return nil, fmt.Errorf("standard output holds %q, which is no answer (D3)", bytes.TrimSpace(line))
	}
	if string(answer["id"]) != fmt.Sprint(p.id) {
		return nil, fmt.Errorf("the answer to %s is %s, which has another id", op, bytes.TrimSpace(line))
	}
	if string(answer["unsupported"]) == "true" {
		return nil, fmt.Errorf("%s: %w", op, errUnsupported)
	}
	return answer, nil
}

// end waits until the process has ended by itself, and gives what else it wrote to standard output.
func (p *process) end(within time.Duration) (rest []byte, err error) {
	limit := time.After(within)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				<-p.ended
				return rest, nil
			}
			rest = append(rest, line...)
		case <-limit:
			return rest, fmt.Errorf("the process did not end within %v", within)
		}
	}
}

// kill ends a process that a failed case left behind.
func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	_, _ = p.end(answerWithin)
}
