// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

func TestNameFor(t *testing.T) {
	cases := map[string]struct {
		argv []string
		want string
	}{
		"a program":                          {argv: []string{"bin/digits", "--epochs", "3"}, want: "digits"},
		"a script":                           {argv: []string{"python3", "-u", "src/Train_MNIST.py", "--config", "a.yaml"}, want: "train-mnist"},
		"a script behind launchers":          {argv: []string{"env", "A=1", "torchrun", "--nproc_per_node", "4", "fine.tune.py"}, want: "fine-tune"},
		"a module":                           {argv: []string{"python", "-m", "pkg.trainer", "--x"}, want: "trainer"},
		"code on the command line":           {argv: []string{"python", "-c", "print(1)"}, want: "python"},
		"a name that starts with a digit":    {argv: []string{"./3d"}, want: "run-3d"},
		"a name without letters":             {argv: []string{"./--"}, want: "run"},
		"a name of another script":           {argv: []string{"./訓練"}, want: "run"},
		"a name that is too long":            {argv: []string{strings.Repeat("long-", 20)}, want: strings.TrimSuffix(strings.Repeat("long-", 13)[:63], "-")},
		"an option that looks like a script": {argv: []string{"tool", "--file=x.py"}, want: "tool"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := nameFor(tc.argv)
			if got != tc.want {
				t.Errorf("nameFor(%q) = %q, want %q", tc.argv, got, tc.want)
			}
			for _, label := range []string{got, withSuffix(got, "12")} {
				if problems := validation.IsDNS1035Label(label); len(problems) > 0 {
					t.Errorf("%q is no name for a TrainJob: %v", label, problems)
				}
			}
		})
	}
}

func TestQuote(t *testing.T) {
	cases := map[string]string{"/tmp/a.b-c": "/tmp/a.b-c", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "~": "'~'"}
	for in, want := range cases {
		if got := quote(in); got != want {
			t.Errorf("quote(%q) = %s, want %s", in, got, want)
		}
	}
}

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func makeJob(name string, state trainer.TrainJobState, age time.Duration, status *trainer.TrainerStatus) *trainer.TrainJob {
	job := &trainer.TrainJob{}
	job.APIVersion, job.Kind = trainer.GroupVersion.String(), trainer.TrainJobKind
	job.Namespace, job.Name = "default", name
	job.CreationTimestamp = metav1.NewTime(now.Add(-age))
	job.Status.State, job.Status.TrainerStatus = state, status
	return job
}

func TestTable(t *testing.T) {
	running := &trainer.TrainerStatus{
		ProgressPercentage: new(int32(45)), EstimatedRemainingSeconds: new(int32(73)),
		Metrics: []trainer.Metric{{Name: "loss", Value: "0.5"}, {Name: "損失", Value: "\x1b[m"}},
	}
	jobs := []*trainer.TrainJob{
		makeJob("digits", trainer.TrainJobStateRunning, 11*time.Second, running),
		makeJob("a-rather-long-name", trainer.TrainJobStateFailed, 26*time.Hour, running),
		makeJob("quiet", trainer.TrainJobStateComplete, 90*time.Minute, nil),
	}
	cases := map[string]struct {
		options getOptions
		want    string
	}{
		"the columns of kubectl": {want: `
NAME                 STATE      PROGRESS   ETA     AGE
digits               Running    45%        1m13s   11s
a-rather-long-name   Failed     45%        -       26h
quiet                Complete   -          -       90m
`},
		"with metrics": {options: getOptions{output: "wide"}, want: `
NAME                 STATE      PROGRESS   ETA     AGE   METRICS
digits               Running    45%        1m13s   11s   loss=0.5 損失=^[[m
a-rather-long-name   Failed     45%        -       26h   loss=0.5 損失=^[[m
quiet                Complete   -          -       90m
`},
		"of all namespaces": {options: getOptions{allNamespaces: true}, want: `
NAMESPACE   NAME                 STATE      PROGRESS   ETA     AGE
default     digits               Running    45%        1m13s   11s
default     a-rather-long-name   Failed     45%        -       26h
default     quiet                Complete   -          -       90m
`},
		"names alone": {options: getOptions{output: "name"}, want: `
trainjob.trainer.kubeflow.org/digits
trainjob.trainer.kubeflow.org/a-rather-long-name
trainjob.trainer.kubeflow.org/quiet
`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			printer, err := tc.options.printer()
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := printer.print(&out, jobs, now); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimPrefix(tc.want, "\n"), out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTableKeepsItsColumnsWhileItIsWatched(t *testing.T) {
	printer, err := (&getOptions{watch: true}).printer()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, jobs := range [][]*trainer.TrainJob{{makeJob("digits", trainer.TrainJobStateComplete, time.Minute, nil)}, {}, {makeJob("a", trainer.TrainJobStateRunning, 0, nil)}} {
		if err := printer.print(&out, jobs, now); err != nil {
			t.Fatal(err)
		}
	}
	want := "NAME     STATE      PROGRESS   ETA   AGE\ndigits   Complete   -          -     60s\na        Running    -          -     0s\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestDocuments(t *testing.T) {
	one, two := makeJob("one", trainer.TrainJobStateComplete, 0, nil), makeJob("two", trainer.TrainJobStateComplete, 0, nil)
	cases := map[string]struct {
		options   getOptions
		jobs      []*trainer.TrainJob
		wantStart string
		wantDocs  int
	}{
		"one job by name is an object":       {options: getOptions{output: "yaml", name: "one"}, jobs: []*trainer.TrainJob{one}, wantStart: "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n", wantDocs: 1},
		"several jobs are a list":            {options: getOptions{output: "yaml"}, jobs: []*trainer.TrainJob{one, two}, wantStart: "apiVersion: trainer.kubeflow.org/v1alpha1\nitems:\n- apiVersion", wantDocs: 1},
		"no job is an empty list":            {options: getOptions{output: "yaml"}, wantStart: "apiVersion: trainer.kubeflow.org/v1alpha1\nitems: []\nkind: TrainJobList\n", wantDocs: 1},
		"a watch prints each job by itself":  {options: getOptions{output: "yaml", watch: true}, jobs: []*trainer.TrainJob{one, two}, wantStart: "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n", wantDocs: 2},
		"JSON looks as that of kubectl does": {options: getOptions{output: "json", name: "one"}, jobs: []*trainer.TrainJob{one}, wantStart: "{\n    \"kind\": \"TrainJob\",\n    \"apiVersion\"", wantDocs: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			printer, err := tc.options.printer()
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := printer.print(&out, tc.jobs, now); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(out.String(), tc.wantStart) || strings.Count(out.String(), "---\n")+1 != tc.wantDocs {
				t.Errorf("output is %q, want it to start with %q and to hold %d documents", out.String(), tc.wantStart, tc.wantDocs)
			}
		})
	}
}

func TestUnknownOutputNamesTheChoices(t *testing.T) {
	if _, err := (&getOptions{output: "xml"}).printer(); err == nil || !strings.Contains(err.Error(), "yaml, json, name or wide") {
		t.Errorf("error = %v", err)
	}
}

func TestTheProgramGoesByTheNameItWasCalled(t *testing.T) {
	cases := map[string]string{"/usr/bin/milepost": "milepost", "bin/kubectl-trainjob": "kubectl trainjob", "mp": "milepost"}
	for called, want := range cases {
		p := &Program{Args: []string{called}}
		root := p.root()
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetArgs([]string{"run", "--help"})
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "\n  "+want+" run -- python train.py") || !strings.Contains(out.String(), "\n  "+want+" run [flags] -- COMMAND") {
			t.Errorf("help of %s does not speak of %q:\n%s", called, want, out.String())
		}
	}
}
