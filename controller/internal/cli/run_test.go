// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

const (
	atHalf = `post:{"trainerStatus":{"progressPercentage":45,"estimatedRemainingSeconds":13,"metrics":[{"name":"loss","value":"0.5"}]}}`
	atEnd  = `post:{"trainerStatus":{"progressPercentage":100,"estimatedRemainingSeconds":0,"metrics":[{"name":"loss","value":"0.1"}]}}`
)

func TestARunEndsAsACompleteTrainJob(t *testing.T) {
	b := newBench(t)
	argv := training(t, atHalf, atEnd)
	got := b.run(append([]string{"run", "--name", "digits", "--"}, argv...)...)
	if got.code != 0 {
		t.Fatalf("exit code %d\n%s", got.code, got.stderr)
	}
	if strings.Count(got.stdout, "200 {") != 2 || strings.Contains(got.stdout, "milepost") {
		t.Errorf("stdout = %q, want what the command wrote", got.stdout)
	}
	for _, want := range []string{
		"milepost: running TrainJob default/digits; follow it with: " + argv[0] + " get digits --dir " + b.dir + " --watch\n",
		"milepost: progress 100%  loss=0.1\n",
		"milepost: digits Complete after ",
		"milepost: last report: progress 100%  loss=0.1\n",
		"milepost: TrainJob with its status: " + b.jobPath("digits") + "\n",
	} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("stderr lacks %q:\n%s", want, got.stderr)
		}
	}

	one, zero := new(int32(1)), new(int32(0))
	want := &trainer.TrainJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: "trainer.kubeflow.org/v1alpha1", Kind: "TrainJob"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "digits"},
		Spec: trainer.TrainJobSpec{
			RuntimeRef: trainer.RuntimeRef{Name: "milepost-local-run", APIGroup: new("trainer.kubeflow.org"), Kind: new("ClusterTrainingRuntime")},
			Trainer:    &trainer.Trainer{Command: argv, NumNodes: one},
		},
		Status: trainer.TrainJobStatus{
			State: trainer.TrainJobStateComplete,
			Conditions: []metav1.Condition{{
				Type: "Complete", Status: metav1.ConditionTrue, Reason: "AllJobsCompleted", Message: "the command completed successfully",
			}},
			JobsStatus: []trainer.JobStatus{{Name: "node", Ready: zero, Succeeded: one, Failed: zero, Active: zero, Suspended: zero}},
			TrainerStatus: &trainer.TrainerStatus{
				ProgressPercentage: new(int32(100)), EstimatedRemainingSeconds: zero,
				Metrics: []trainer.Metric{{Name: "loss", Value: "0.1"}},
			},
		},
	}
	job := b.job("digits")
	if diff := cmp.Diff(want, job, cmpopts.IgnoreTypes(metav1.Time{}), cmpopts.IgnoreFields(metav1.ObjectMeta{}, "UID")); diff != "" {
		t.Errorf("TrainJob (-want +got):\n%s", diff)
	}
	if job.UID == "" || job.CreationTimestamp.IsZero() || job.Status.Conditions[0].LastTransitionTime.IsZero() || job.Status.TrainerStatus.LastUpdatedTime.IsZero() {
		t.Errorf("a UID or a time is missing: %+v", job)
	}
	if left, _ := filepath.Glob(b.file("milepost-run-*")); len(left) > 0 {
		t.Errorf("the token is left behind in %v", left)
	}
}

func TestTheExitCodeIsThatOfTheCommand(t *testing.T) {
	script := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(script, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		args       []string
		wantCode   int
		wantStderr string // one line
	}{
		"a code of the command":       {args: append([]string{"run", "--name", "x", "--"}, training(t, "exit:3")...), wantCode: 3, wantStderr: "milepost: x Failed after 0s: the command failed with exit code 3\n"},
		"ended by a signal":           {args: []string{"run", "--name", "x", "--", "sh", "-c", "kill -KILL $$"}, wantCode: 137, wantStderr: "milepost: x Failed after 0s: the command was ended by SIGKILL (exit code 137)\n"},
		"a command that is not there": {args: []string{"run", "no-such-command"}, wantCode: 127, wantStderr: "milepost: no-such-command: command not found\n"},
		"a file that cannot run":      {args: []string{"run", "--", script}, wantCode: 126, wantStderr: "milepost: " + script + ": no permission to run it\n"},
		"no command":                  {args: []string{"run", "--name", "x"}, wantCode: 125, wantStderr: "milepost: no command given: milepost run -- COMMAND\n"},
		"a name that no TrainJob has": {args: []string{"run", "--name", "X_1", "--", "true"}, wantCode: 125, wantStderr: `"X_1" cannot be the name of a TrainJob`},
		"a namespace with a slash":    {args: []string{"run", "-n", "../..", "--", "true"}, wantCode: 125, wantStderr: `"../.." cannot be a namespace`},
		"a flag that does not exist":  {args: []string{"run", "--nosuch", "x", "--", "true"}, wantCode: 125, wantStderr: "milepost: unknown flag: --nosuch; see 'milepost run --help'\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := newBench(t).run(tc.args...)
			if got.code != tc.wantCode || !strings.Contains(got.stderr, tc.wantStderr) {
				t.Errorf("exit code %d, stderr %q; want %d, %q", got.code, got.stderr, tc.wantCode, tc.wantStderr)
			}
		})
	}
}

func TestAFailedRunKeepsItsLastProgress(t *testing.T) {
	b := newBench(t)
	b.run(append([]string{"run", "--name", "digits", "--"}, training(t, atHalf, "exit:3")...)...)
	status := b.job("digits").Status
	if status.State != trainer.TrainJobStateFailed || *status.TrainerStatus.ProgressPercentage != 45 {
		t.Errorf("status = %+v", status)
	}
	condition := status.Conditions[0]
	if condition.Type != "Failed" || condition.Reason != "FailedJobs" || !strings.Contains(condition.Message, "exit code 3") {
		t.Errorf("condition = %+v", condition)
	}
}

func TestACompleteRunIsNotForcedToOneHundred(t *testing.T) {
	b := newBench(t)
	b.run(append([]string{"run", "--name", "digits", "--"}, training(t, atHalf)...)...)
	if status := b.job("digits").Status; status.State != trainer.TrainJobStateComplete || *status.TrainerStatus.ProgressPercentage != 45 {
		t.Errorf("status = %+v", status)
	}
}

func TestACommandThatDoesNotStartLeavesTheOlderRunAlone(t *testing.T) {
	b := newBench(t)
	b.run("run", "--name", "digits", "--", "true")
	before := b.job("digits").UID
	b.run("run", "--name", "digits", "--", "no-such-command")
	if after := b.job("digits").UID; after != before {
		t.Error("the file was replaced")
	}
	b.run("run", "--name", "digits", "--", "true")
	if after := b.job("digits").UID; after == before {
		t.Error("a new run has the UID of the old one")
	}
}

func TestTheFileShowsTheRunWhileItGoesOn(t *testing.T) {
	b := newBench(t)
	p := b.start(append([]string{"run", "--name", "digits", "--"}, training(t, atHalf, "touch:"+b.file("posted"), "await:"+b.file("go"))...)...)
	if err := awaitFile(b.file("posted")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the report is in the file", func() bool { return b.job("digits").Status.TrainerStatus != nil })
	if got, want := b.run("get", "digits").stdout, "NAME     STATE     PROGRESS   ETA   AGE\ndigits   Running   45%        13s   "; !strings.HasPrefix(got, want) {
		t.Errorf("table = %q, want %q", got, want)
	}
	status := b.job("digits").Status
	if len(status.Conditions) != 0 || *status.JobsStatus[0].Active != 1 {
		t.Errorf("status = %+v, want no condition and one active job", status)
	}
	if err := os.WriteFile(b.file("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := p.wait(); got.code != 0 {
		t.Errorf("exit code %d", got.code)
	}
}

func TestAReportSentOnTheWayOutIsKept(t *testing.T) {
	b := newBench(t)
	b.run(append([]string{"run", "--name", "digits", "--"}, training(t, strings.Replace(atHalf, "post:", "send:", 1))...)...)
	if status := b.job("digits").Status.TrainerStatus; status == nil || *status.ProgressPercentage != 45 {
		t.Errorf("trainerStatus = %+v", status)
	}
}

func TestTheEndpointAnswersAsInACluster(t *testing.T) {
	b := newBench(t)
	p := b.start(append([]string{"run", "--name", "digits", "--"}, training(t, "environment:"+b.file("env"), "await:"+b.file("go"))...)...)
	stranger := b.start(append([]string{"run", "--name", "letters", "--"}, training(t, "environment:"+b.file("env2"), "await:"+b.file("go"))...)...)
	own, other := readReporter(t, b.file("env")), readReporter(t, b.file("env2"))

	cases := map[string]struct {
		reporter reporter
		body     string
		want     int
		wantText string
	}{
		"a good report":                 {reporter: own, body: `{"trainerStatus":{"progressPercentage":7}}`, want: 200, wantText: `"progressPercentage":7`},
		"an address by name":            {reporter: reporter{url: strings.Replace(own.url, "127.0.0.1", "localhost", 1), ca: own.ca, token: own.token}, body: `null`, want: 200, wantText: `{}`},
		"nothing to report":             {reporter: own, body: `{}`, want: 200, wantText: `{}`},
		"progress beyond 100":           {reporter: own, body: `{"trainerStatus":{"progressPercentage":107}}`, want: 422, wantText: "progressPercentage"},
		"no token":                      {reporter: reporter{url: own.url, ca: own.ca}, body: `{}`, want: 401, wantText: `"code":401`},
		"the token of another run":      {reporter: reporter{url: own.url, ca: own.ca, token: other.token}, body: `{}`, want: 401, wantText: `"code":401`},
		"the path of another job":       {reporter: reporter{url: strings.Replace(own.url, "/digits/", "/letters/", 1), ca: own.ca, token: own.token}, body: `{}`, want: 403, wantText: `"code":403`},
		"the path of another namespace": {reporter: reporter{url: strings.Replace(own.url, "/default/", "/team-a/", 1), ca: own.ca, token: own.token}, body: `{}`, want: 403, wantText: `"code":403`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			code, body, err := tc.reporter.do("POST", tc.body)
			if err != nil || code != tc.want || !strings.Contains(body, tc.wantText) {
				t.Errorf("answer %d %s, %v; want %d with %s", code, body, err, tc.want, tc.wantText)
			}
		})
	}
	t.Run("another CA is not trusted", func(t *testing.T) {
		wrong := reporter{url: own.url, ca: other.ca, token: own.token}
		if code, _, err := wrong.do("POST", `{}`); err == nil {
			t.Errorf("answer %d, want a failed handshake", code)
		}
	})
	t.Run("the credentials are private", func(t *testing.T) { checkPrivate(t, own) })

	if err := os.WriteFile(b.file("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stranger.wait()
	if got, want := p.wait().stderr, "milepost: reports that were refused: 2 × 401, 2 × 403, 1 × 422; the answers said why\n"; !strings.Contains(got, want) {
		t.Errorf("stderr lacks %q:\n%s", want, got)
	}
}

func checkPrivate(t *testing.T, r reporter) {
	t.Helper()
	for path, want := range map[string]os.FileMode{r.token: 0o600, filepath.Dir(r.token): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v (%v)", path, info.Mode().Perm(), want, err)
		}
	}
}

// readReporter reads how the training program reaches its endpoint.
func readReporter(t *testing.T, path string) reporter {
	t.Helper()
	var env []string
	eventually(t, path+" is written", func() bool {
		text, err := os.ReadFile(path)
		env = strings.Split(string(text), "\n")
		return err == nil && len(env) > 3
	})
	values := map[string]string{}
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		values[name] = value
	}
	url := regexp.MustCompile(`^https://127\.0\.0\.1:\d+/apis/trainer\.kubeflow\.org/v1alpha1/namespaces/default/trainjobs/[a-z]+/status$`)
	if !url.MatchString(values["KUBEFLOW_TRAINER_SERVER_URL"]) {
		t.Errorf("URL = %q", values["KUBEFLOW_TRAINER_SERVER_URL"])
	}
	return reporter{url: values["KUBEFLOW_TRAINER_SERVER_URL"], ca: values["KUBEFLOW_TRAINER_SERVER_CA_CERT"], token: values["KUBEFLOW_TRAINER_SERVER_TOKEN"]}
}

func TestSignalsReachTheCommandAndTheRunWaitsForIt(t *testing.T) {
	for name, number := range map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "USR1": syscall.SIGUSR1} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			p := b.start(append([]string{"run", "--name", "digits", "--"}, training(t, "trap:"+name+"=caught", "await:"+b.file("go"), "exit:7")...)...)
			eventually(t, "the command traps the signal", func() bool { return strings.Contains(p.stdout.text(), "trapping") })
			for range 2 { // a second one goes the same way
				before := strings.Count(p.stdout.text(), "caught")
				if err := p.cmd.Process.Signal(number); err != nil {
					t.Fatal(err)
				}
				eventually(t, "the command has the signal", func() bool { return strings.Count(p.stdout.text(), "caught") > before })
			}
			if err := os.WriteFile(b.file("go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := p.wait(); got.code != 7 || strings.Count(got.stdout, "caught") != 2 {
				t.Errorf("exit code %d, stdout %q; want 7 and each signal once", got.code, got.stdout)
			}
		})
	}
}

func TestTwoRunsOfOneName(t *testing.T) {
	b := newBench(t)
	first := b.start(append([]string{"run", "--name", "digits", "--"}, training(t, "touch:"+b.file("up"), "await:"+b.file("go"))...)...)
	if err := awaitFile(b.file("up")); err != nil {
		t.Fatal(err)
	}
	got := b.run("run", "--name", "digits", "--", "true")
	if want := "milepost: a run named \"digits\" is under way; give this one another --name\n"; got.code != 125 || got.stderr != want {
		t.Errorf("exit code %d, stderr %q; want 125, %q", got.code, got.stderr, want)
	}
	script := b.file("digits.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := b.run("run", "--", script); got.code != 0 || !strings.Contains(got.stderr, "milepost: digits-2 Complete after") {
		t.Errorf("exit code %d, stderr %q; want a run named digits-2", got.code, got.stderr)
	}
	if err := os.WriteFile(b.file("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first.wait()
	if got := b.run("run", "--", script); !strings.Contains(got.stderr, "milepost: digits Complete after") {
		t.Errorf("stderr %q, want the name to be free again", got.stderr)
	}
}

func TestARunThatWasKilledIsFailed(t *testing.T) {
	b := newBench(t)
	p := b.start(append([]string{"run", "--name", "digits", "--"}, training(t, atHalf, "touch:"+b.file("up"), "await:"+b.file("go"))...)...)
	if err := awaitFile(b.file("up")); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.file("go"), nil, 0o600); err != nil { // the command itself goes on to its end
		t.Fatal(err)
	}
	p.wait()
	if got := b.run("get", "digits").stdout; !strings.Contains(got, "digits   Failed   45%        -") {
		t.Errorf("table = %q", got)
	}
	if got := b.run("get", "digits", "-o", "yaml").stdout; !strings.Contains(got, "reason: RunLost") {
		t.Errorf("yaml = %s", got)
	}
	if got := b.run("run", "--name", "digits", "--", "true"); got.code != 0 {
		t.Errorf("the name cannot be used again: %s", got.stderr)
	}
}

func TestNothingButTextGoesToAPipe(t *testing.T) {
	b := newBench(t)
	hostile := `post:{"trainerStatus":{"progressPercentage":1,"metrics":[{"name":"\u001b[2J\u001b[31m","value":"\u202e\u009b1m\r\n"}]}}`
	got := b.run(append([]string{"run", "--name", "digits", "--"}, training(t, hostile)...)...)
	outputs := map[string]string{"the lines of the run": got.stderr}
	for _, form := range []string{"wide", "yaml", "json"} {
		outputs["get -o "+form] = b.run("get", "digits", "-o", form).stdout
	}
	for name, text := range outputs {
		if !strings.Contains(text, "[2J") {
			t.Errorf("%s do not show the metric:\n%s", name, text)
		}
		if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r == 0x202e }); i >= 0 {
			t.Errorf("%s hold %q", name, text[i:])
		}
	}
}

func TestOneFileInPlaceOfTheFolder(t *testing.T) {
	b := newBench(t)
	path := b.file("here.yaml")
	command := func(args ...string) string {
		out, err := b.command(args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	command("run", "--status-file", path, "--", "true")
	if got := command("get", "--status-file", path); !strings.Contains(got, "true   Complete") {
		t.Errorf("table = %q", got)
	}
	if left, err := os.ReadDir(b.dir); err != nil || len(left) != 1 {
		t.Errorf("%d files in the folder, want the one (%v)", len(left), err)
	}
}

func TestAFolderThatCannotBeWrittenStopsTheRunBeforeTheCommand(t *testing.T) {
	b := newBench(t)
	if err := os.WriteFile(b.file("runs"), nil, 0o600); err != nil { // a file where a folder should be
		t.Fatal(err)
	}
	got := b.run("run", "--name", "digits", "--", "sh", "-c", "echo trained")
	if got.code != 125 || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("exit code %d, stdout %q, stderr %q; want 125 and one line", got.code, got.stdout, got.stderr)
	}
}
