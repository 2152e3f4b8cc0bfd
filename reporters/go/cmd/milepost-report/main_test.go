// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/reporters/go/internal/servertest"
)

var stamp = regexp.MustCompile(`,?"lastUpdatedTime":"[^"]*"`)

// inner is the report without its time.
func inner(body string) string {
	body = stamp.ReplaceAllString(body, "")
	return strings.TrimSuffix(strings.TrimPrefix(body, `{"trainerStatus":`), "}")
}

func TestOneReport(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"percent, time and a metric": {
			args: []string{"--progress", "45", "--eta", "120", "--metric", "loss=0.2"},
			want: `{"progressPercentage":45,"estimatedRemainingSeconds":120,"metrics":[{"name":"loss","value":"0.2"}]}`,
		},
		"steps": {
			args: []string{"--step", "450", "--total", "1000"},
			want: `{"progressPercentage":45}`,
		},
		"values stay as they are written": {
			args: []string{"--metric", "lr=1E-4", "--metric", "phase=warm=up"},
			want: `{"metrics":[{"name":"lr","value":"1E-4"},{"name":"phase","value":"warm=up"}]}`,
		},
		"completion": {
			args: []string{"--complete", "--metric", "accuracy=0.97"},
			want: `{"progressPercentage":100,"estimatedRemainingSeconds":0,"metrics":[{"name":"accuracy","value":"0.97"}]}`,
		},
		"an explicit 0": {
			args: []string{"--progress=0"},
			want: `{"progressPercentage":0}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := servertest.Start(t)
			var stderr bytes.Buffer
			if code := run("milepost-report", tc.args, strings.NewReader(""), &stderr); code != exitFine {
				t.Errorf("exit code %d: %s", code, &stderr)
			}
			bodies := server.Bodies()
			if len(bodies) != 1 || inner(bodies[0]) != tc.want {
				t.Errorf("got %q, want %s", bodies, tc.want)
			}
		})
	}
}

func TestFailSendsNothing(t *testing.T) {
	server := servertest.Start(t)
	var stderr bytes.Buffer
	if code := run("milepost-report", []string{"--fail", "out of memory"}, strings.NewReader(""), &stderr); code != exitFine {
		t.Errorf("exit code %d", code)
	}
	if len(server.Bodies()) != 0 || !strings.Contains(stderr.String(), "out of memory") {
		t.Errorf("sent %q, said %s", server.Bodies(), &stderr)
	}
}

func TestOutsideATrainJob(t *testing.T) {
	t.Setenv("KUBEFLOW_TRAINER_SERVER_URL", "")
	var stderr bytes.Buffer
	code := run("milepost-report", []string{"--progress", "1"}, strings.NewReader(""), &stderr)
	if code != exitFine || !strings.Contains(stderr.String(), "KUBEFLOW_TRAINER_SERVER_URL") {
		t.Errorf("exit code %d, said %s", code, &stderr)
	}
}

func TestWrongUse(t *testing.T) {
	for name, args := range map[string][]string{
		"nothing":                     {},
		"a metric without value":      {"--metric", "loss"},
		"a number that is none":       {"--progress", "much"},
		"an unknown flag":             {"--percent", "1"},
		"words":                       {"--progress", "1", "2"},
		"two ends":                    {"--complete", "--fail", "x"},
		"an end with progress":        {"--complete", "--progress", "99"},
		"a step without total":        {"--step", "1"},
		"a file and numbers at once":  {"--follow", "-", "--eta", "1"},
		"a completion by a bad value": {"--complete=perhaps"},
	} {
		t.Run(name, func(t *testing.T) {
			server := servertest.Start(t)
			var stderr bytes.Buffer
			code := run("milepost-report", args, strings.NewReader(""), &stderr)
			if code != exitUsage || stderr.Len() == 0 || len(server.Bodies()) != 0 {
				t.Errorf("exit code %d, said %q, sent %q", code, &stderr, server.Bodies())
			}
		})
	}
}

func TestHelpAndVersion(t *testing.T) {
	for flag, want := range map[string]string{"--help": "--follow -", "--version": "milepost-report "} {
		var stderr bytes.Buffer
		if code := run("milepost-report", []string{flag}, strings.NewReader(""), &stderr); code != exitFine || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, said %s", flag, code, &stderr)
		}
	}
}

func TestUsageSpeaksOfTheNameItWasCalledBy(t *testing.T) {
	var stderr bytes.Buffer
	run("milepost report", []string{"--help"}, strings.NewReader(""), &stderr)
	if !strings.Contains(stderr.String(), "  milepost report --progress 45") || strings.Contains(stderr.String(), "NAME") {
		t.Errorf("said %s", &stderr)
	}
}

func TestFollowStandardInput(t *testing.T) {
	server := servertest.Start(t)
	input := strings.NewReader(`
Epoch 1 of 10
{"step": 450, "total": 1000, "metrics": {"loss": 0.20, "eval": {"accuracy": 0.9}, "done": false}}
{"level": "info", "msg": "not a report"}
null
[1]
{"metrics": 5}
{"complete": true, "metrics": {"accuracy": 0.97}}
{"progress": 1}
`)
	var stderr bytes.Buffer
	if code := run("milepost-report", []string{"--follow", "-"}, input, &stderr); code != exitFine {
		t.Errorf("exit code %d", code)
	}
	bodies := server.Bodies()
	want := `{"progressPercentage":100,"estimatedRemainingSeconds":0,"metrics":[{"name":"accuracy","value":"0.97"}]}`
	if len(bodies) == 0 || inner(bodies[len(bodies)-1]) != want {
		t.Errorf("got %q, want %s as the last", bodies, want)
	}
	if strings.Count(stderr.String(), "passing over") != 1 {
		t.Errorf("said %s", &stderr)
	}
	if input.Len() != 0 {
		t.Error("the input was not read to its end; the program that writes it would die of the broken pipe")
	}
}

func TestEndOfInputSendsTheLastLine(t *testing.T) {
	server := servertest.Start(t)
	input := strings.NewReader(`{"progress": 10}` + "\n" + `{"progress": 20, "eta": 7.9, "metrics": {"a": 1, "b": 2.50}, "keep": ["b"]}`)
	var stderr bytes.Buffer
	run("milepost-report", []string{"--follow", "-"}, input, &stderr)
	bodies := server.Bodies()
	want := `{"progressPercentage":20,"estimatedRemainingSeconds":7,"metrics":[{"name":"a","value":"1"},{"name":"b","value":"2.5"}]}`
	if len(bodies) == 0 || inner(bodies[len(bodies)-1]) != want {
		t.Errorf("got %q, want %s as the last: %s", bodies, want, &stderr)
	}
}

func TestFollowFileThatComesGrowsAndIsReplaced(t *testing.T) {
	server := servertest.Start(t)
	path := filepath.Join(t.TempDir(), "progress.jsonl")
	done := make(chan int)
	var stderr bytes.Buffer
	go func() {
		done <- run("milepost-report", []string{"--follow", path, "--interval", "0s"}, strings.NewReader(""), &stderr)
	}()

	write(t, path, `{"progress": 10}`+"\n"+`{"progress"`)
	server.Await(t, 1)
	write(t, path, `: 20}`+"\n")
	server.Await(t, 2)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, path, `{"progress": 30}`+"\n")
	server.Await(t, 3)
	write(t, path, `{"fail": "out of memory"}`+"\n")
	select {
	case code := <-done:
		if code != exitFine {
			t.Errorf("exit code %d: %s", code, &stderr)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it goes on after the training failed")
	}
	for i, want := range []string{`{"progressPercentage":10}`, `{"progressPercentage":20}`, `{"progressPercentage":30}`} {
		if got := inner(server.Bodies()[i]); got != want {
			t.Errorf("report %d is %s, want %s", i+1, got, want)
		}
	}
}

// write appends to a file and makes it where it is not there.
func write(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
