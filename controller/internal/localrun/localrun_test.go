// SPDX-License-Identifier: Apache-2.0

package localrun

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/milepost-dev/milepost/controller/internal/localrun/command"
	"github.com/milepost-dev/milepost/controller/internal/localrun/jobfile"
	"github.com/milepost-dev/milepost/controller/internal/localrun/localidentity"
	"github.com/milepost-dev/milepost/controller/internal/report"
)

var (
	key   = report.JobKey{Namespace: "default", Name: "digits"}
	begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

func TestEnvironment(t *testing.T) {
	const url, ca, token = "https://127.0.0.1:1/x", "/run/ca.crt", "/run/token"
	ours := []string{"KUBEFLOW_TRAINER_SERVER_URL=" + url, "KUBEFLOW_TRAINER_SERVER_CA_CERT=" + ca, "KUBEFLOW_TRAINER_SERVER_TOKEN=" + token}
	cases := map[string]struct{ base, want []string }{
		"the rest stays": {base: []string{"A=1", "KUBEFLOW_TRAINER_SERVER_URL=old"}, want: []string{"A=1", "KUBEFLOW_TRAINER_SERVER_URL=old"}},
		"a proxy is not used for this machine": {
			base: []string{"HTTPS_PROXY=http://proxy:3128"},
			want: []string{"HTTPS_PROXY=http://proxy:3128", "NO_PROXY=127.0.0.1,::1,localhost", "no_proxy=127.0.0.1,::1,localhost"},
		},
		"other exceptions from the proxy stay": {
			base: []string{"all_proxy=socks5://p", "no_proxy=.corp"},
			want: []string{"all_proxy=socks5://p", "no_proxy=.corp", "NO_PROXY=127.0.0.1,::1,localhost", "no_proxy=.corp,127.0.0.1,::1,localhost"},
		},
		"an empty proxy is none": {base: []string{"https_proxy="}, want: []string{"https_proxy="}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(slices.Concat(tc.want, ours), environment(tc.base, url, ca, token)); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheTokenIsReplacedInTime(t *testing.T) {
	clock := clocktesting.NewFakeClock(begin)
	identity, err := localidentity.New(key, "uid-1", clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	k, err := newCredentials([]byte("ca"), identity, clock, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	read := func() string {
		text, err := os.ReadFile(k.tokenFile())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := read()
	waitForTicker(t, clock)
	clock.Step(47 * time.Minute)
	waitForTicker(t, clock)
	if read() != first {
		t.Error("the token was replaced before its time")
	}
	clock.Step(2 * time.Minute)
	deadline := time.After(10 * time.Second)
	for read() == first {
		select {
		case <-deadline:
			t.Fatal("the token was not replaced at four fifths of its life")
		default:
		}
	}
	check, err := identity.Identifier()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := check.Identify(t.Context(), read(), key); err != nil {
		t.Errorf("the new token is refused: %v", err)
	}
	if err := k.close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(k.dir); !os.IsNotExist(err) {
		t.Errorf("the folder of the token is still there: %v", err)
	}
}

// waitForTicker waits until the goroutine with the ticker can hear the fake clock.
func waitForTicker(t *testing.T, clock *clocktesting.FakeClock) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for !clock.HasWaiters() {
		select {
		case <-deadline:
			t.Fatal("no ticker was started")
		default:
		}
	}
}

// newRecord makes a record below a folder, with what it says in the returned list.
func newRecord(t *testing.T) (*record, *[]string) {
	t.Helper()
	clock := clocktesting.NewFakeClock(begin)
	said := &[]string{}
	path := jobfile.Dir(t.TempDir()).Path(key.Namespace, key.Name)
	job := newTrainJob(Config{Job: key, Argv: []string{"true"}, Clock: clock})
	return &record{
		clock: clock, path: path, job: job, kept: report.Kept{JobUID: job.UID},
		say: func(text string) { *said = append(*said, text) },
	}, said
}

func TestRecordIsWhatTheAPIServerIsInACluster(t *testing.T) {
	r, _ := newRecord(t)
	if err := r.begin(); err != nil {
		t.Fatal(err)
	}
	empty, err := r.Load(t.Context(), key)
	if err != nil || empty.Report != nil || empty.JobUID != r.job.UID {
		t.Fatalf("Load = %+v, %v", empty, err)
	}
	rep := report.Report{ProgressPercentage: new(int32(7)), LastUpdatedTime: begin}
	if err := r.Store(t.Context(), key, empty, rep); err != nil {
		t.Fatal(err)
	}
	stored, err := r.Load(t.Context(), key)
	if err != nil || !stored.Report.Equal(rep) || stored.Version == empty.Version || !stored.WrittenTime.Equal(begin) {
		t.Errorf("Load = %+v, %v", stored, err)
	}
	if err := r.Store(t.Context(), key, empty, rep); !errors.Is(err, report.ErrConflict) {
		t.Errorf("storing over a version that is not the present one gave %v", err)
	}
	if _, err := r.Load(t.Context(), report.JobKey{Namespace: "default", Name: "letters"}); !errors.Is(err, report.ErrUnknownJob) {
		t.Errorf("another job gave %v", err)
	}
}

func TestAFileThatCannotBeWrittenIsSaidOnce(t *testing.T) {
	r, said := newRecord(t)
	folder := filepath.Dir(r.path)
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder, nil, 0o600); err != nil { // a file where the folder should be
		t.Fatal(err)
	}
	for range 3 {
		if err := r.Store(context.Background(), key, r.kept, report.Report{LastUpdatedTime: begin}); err == nil {
			t.Fatal("stored without a folder")
		}
	}
	if kept, _ := r.Load(t.Context(), key); kept.Report != nil {
		t.Error("what could not be written counts as stored")
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	if err := r.Store(context.Background(), key, r.kept, report.Report{LastUpdatedTime: begin}); err != nil {
		t.Errorf("storing once the folder can be made gave %v", err)
	}
	if len(*said) != 1 || !strings.Contains((*said)[0], "trying again") {
		t.Errorf("said %q, want one line", *said)
	}
}

func TestOutcome(t *testing.T) {
	cases := map[string]struct {
		exit                    command.Exit
		wantState, wantType     string
		wantReason, wantMessage string
	}{
		"success":      {exit: command.Exit{}, wantState: "Complete", wantType: "Complete", wantReason: "AllJobsCompleted", wantMessage: "the command completed successfully"},
		"an exit code": {exit: command.Exit{Code: 3}, wantState: "Failed", wantType: "Failed", wantReason: "FailedJobs", wantMessage: "the command failed with exit code 3"},
		"a signal":     {exit: command.Exit{Code: 143, Signal: "SIGTERM"}, wantState: "Failed", wantType: "Failed", wantReason: "FailedJobs", wantMessage: "the command was ended by SIGTERM (exit code 143)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			state, c := outcome(tc.exit)
			if string(state) != tc.wantState || c.Type != tc.wantType || c.Reason != tc.wantReason || c.Message != tc.wantMessage {
				t.Errorf("outcome = %s, %+v", state, c)
			}
		})
	}
}
