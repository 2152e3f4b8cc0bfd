// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/localrun/jobfile"
	"github.com/milepost-dev/milepost/controller/internal/testkit/leaks"
)

// The test binary is three programs in one: the tests, milepost itself, and a training program that does what its
// arguments say. So the tests run real processes without building anything.
const roleVariable = "MILEPOST_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "milepost":
		// What milepost starts is the training program.
		environ := append(os.Environ(), roleVariable+"=trainer")
		program := &Program{Version: "v0.0.0-test", Args: os.Args, Environ: environ, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
		os.Exit(program.Main(context.Background()))
	case "trainer":
		os.Exit(trainMain(os.Args[1:]))
	}
	os.Exit(leaks.Check(m.Run()))
}

// trainMain performs steps: post:JSON, get, send:JSON (without reading the answer), bearer:FILE (use another token),
// say:TEXT, touch:FILE, await:FILE, environment:FILE, trap:SIGNAL=TEXT, terminal, read, exit:CODE.
func trainMain(steps []string) int {
	c := &reporter{url: os.Getenv("KUBEFLOW_TRAINER_SERVER_URL"), token: os.Getenv("KUBEFLOW_TRAINER_SERVER_TOKEN"), ca: os.Getenv("KUBEFLOW_TRAINER_SERVER_CA_CERT")}
	for _, step := range steps {
		verb, rest, _ := strings.Cut(step, ":")
		if verb == "exit" {
			code, err := strconv.Atoi(rest)
			if err != nil {
				panic(err)
			}
			return code
		}
		if err := verbs[verb](c, rest); err != nil {
			fmt.Fprintln(os.Stderr, "trainer:", err)
			return 99
		}
	}
	return 0
}

// verbs are the steps of the training program.
var verbs = map[string]func(c *reporter, rest string) error{
	"post":   func(c *reporter, rest string) error { return c.print(http.MethodPost, rest) },
	"get":    func(c *reporter, _ string) error { return c.print(http.MethodGet, "") },
	"send":   (*reporter).sendAndLeave,
	"say":    func(_ *reporter, rest string) error { _, err := fmt.Println(rest); return err },
	"touch":  func(_ *reporter, rest string) error { return os.WriteFile(rest, nil, 0o600) },
	"await":  func(_ *reporter, rest string) error { return awaitFile(rest) },
	"bearer": func(c *reporter, rest string) error { c.token = rest; return nil },
	"environment": func(_ *reporter, rest string) error {
		return os.WriteFile(rest, []byte(strings.Join(os.Environ(), "\n")), 0o600)
	},
	"trap": func(_ *reporter, rest string) error {
		name, text, _ := strings.Cut(rest, "=")
		go answerSignals(map[string]os.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "USR1": syscall.SIGUSR1}[name], text)
		return nil
	},
	"terminal": func(*reporter, string) error {
		c := exec.Command("/bin/sh", "-c", "test -t 1 && test -t 2")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		return c.Run()
	},
	"read": func(*reporter, string) error {
		var line string
		_, err := fmt.Scanln(&line)
		fmt.Println("read", line)
		return err
	},
}

func answerSignals(s os.Signal, text string) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, s)
	fmt.Println("trapping")
	for range signals {
		fmt.Println(text)
	}
}

func awaitFile(path string) error {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	limit := time.After(20 * time.Second)
	for {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-limit:
			return fmt.Errorf("no file %s", path)
		}
	}
}

// reporter is a client with nothing but net/http.
type reporter struct{ url, token, ca string }

func (r *reporter) client() (*http.Client, error) {
	pem, err := os.ReadFile(r.ca)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}}}, nil
}

func (r *reporter) do(method, body string) (code int, answer string, err error) {
	client, err := r.client()
	if err != nil {
		return 0, "", err
	}
	request, err := http.NewRequest(method, r.url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if r.token != "" {
		token, err := os.ReadFile(r.token)
		if err != nil {
			return 0, "", err
		}
		request.Header.Set("Authorization", "Bearer "+string(token))
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, strings.TrimSpace(string(text)), err
}

// print shows the answer to a request.
func (r *reporter) print(method, body string) error {
	code, answer, err := r.do(method, body)
	fmt.Println(code, answer)
	return err
}

// sendAndLeave writes a request and does not wait for the answer.
func (r *reporter) sendAndLeave(body string) error {
	client, err := r.client()
	if err != nil {
		return err
	}
	host, path, _ := strings.Cut(strings.TrimPrefix(r.url, "https://"), "/")
	transport, _ := client.Transport.(*http.Transport)
	connection, err := tls.Dial("tcp", host, transport.TLSClientConfig)
	if err != nil {
		return err
	}
	token, err := os.ReadFile(r.token)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(connection, "POST /%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", path, host, token, len(body), body)
	return err
}

// bench is a folder for one test and the runs in it.
type bench struct {
	t    *testing.T
	dir  string
	term string // kind of terminal
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return &bench{t: t, dir: t.TempDir(), term: "xterm"}
}

func (b *bench) file(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) jobPath(name string) string { return jobfile.Dir(b.dir).Path("default", name) }

// command makes a milepost process that keeps its state in the folder.
func (b *bench) command(args ...string) *exec.Cmd {
	b.t.Helper()
	program, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	c := exec.CommandContext(b.t.Context(), program, args...)
	c.Env = append(os.Environ(), roleVariable+"=milepost", "XDG_STATE_HOME="+b.dir, "TMPDIR="+b.dir, "LC_ALL=C.UTF-8", "NO_COLOR=", "TERM="+b.term)
	return c
}

// result is what a finished process left.
type result struct {
	code           int
	stdout, stderr string
}

// run runs milepost to its end. --dir comes behind the first argument.
func (b *bench) run(args ...string) result {
	b.t.Helper()
	return b.start(args...).wait()
}

// process is a milepost that is running.
type process struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr safeBuffer
}

// safeBuffer may be read while it is written.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write adds to the buffer.
func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *safeBuffer) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

func (b *bench) start(args ...string) *process {
	b.t.Helper()
	withDir := append([]string{args[0], "--dir", b.dir}, args[1:]...)
	p := &process{t: b.t, cmd: b.command(withDir...)}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.WaitDelay = 10 * time.Second
	if err := p.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (p *process) wait() result {
	p.t.Helper()
	err := p.cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		p.t.Fatalf("waiting for milepost: %v", err)
	}
	return result{code: p.cmd.ProcessState.ExitCode(), stdout: p.stdout.text(), stderr: p.stderr.text()}
}

// training is the command line of the training program.
func training(t *testing.T, steps ...string) []string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{program}, steps...)
}

// job reads the file of a TrainJob strictly.
func (b *bench) job(name string) *trainer.TrainJob {
	b.t.Helper()
	text, err := os.ReadFile(b.jobPath(name))
	if err != nil {
		b.t.Fatal(err)
	}
	job := &trainer.TrainJob{}
	if err := yaml.UnmarshalStrict(text, job); err != nil {
		b.t.Fatalf("file of %s is no TrainJob: %v\n%s", name, err, text)
	}
	return job
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	limit := time.After(20 * time.Second)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-limit:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}
