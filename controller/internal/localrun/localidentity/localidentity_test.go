// SPDX-License-Identifier: Apache-2.0

package localidentity

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

var job = report.JobKey{Namespace: "default", Name: "digits"}

func TestTheOwnTokenIsProven(t *testing.T) {
	identity, err := New(job, "uid-1", clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
	if err != nil {
		t.Fatal(err)
	}
	token, renew, err := identity.Token()
	if err != nil {
		t.Fatal(err)
	}
	if want := identity.clock.Now().Add(48 * time.Minute); !renew.Equal(want) {
		t.Errorf("renew at %v, want %v", renew, want)
	}
	check, err := identity.Identifier()
	if err != nil {
		t.Fatal(err)
	}
	got, err := check.Identify(t.Context(), token, job)
	if err != nil {
		t.Fatal(err)
	}
	want := report.Sender{
		Job: job, JobUID: "uid-1", User: "system:serviceaccount:default:default",
		Pod: "digits-node-0-0", PodUID: identity.pod.UID, PodCreated: identity.pod.CreationTimestamp.Time,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sender (-want +got):\n%s", diff)
	}
}

func TestStrangersAreRefused(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := clocktesting.NewFakeClock(now)
	identity, err := New(job, "uid-1", clock)
	if err != nil {
		t.Fatal(err)
	}
	twin, err := New(job, "uid-1", clock)
	if err != nil {
		t.Fatal(err)
	}
	other := report.JobKey{Namespace: "default", Name: "letters"}
	elsewhere := report.JobKey{Namespace: "team-a", Name: "digits"}
	token := func(from *Identity, job report.JobKey, at time.Time) string {
		text, _, err := from.tokenFor(job, at)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	cases := map[string]struct {
		bearer string
		job    report.JobKey
		want   error
	}{
		"no JWT at all":                       {bearer: "letmein", job: job, want: report.ErrUnproven},
		"a token of another run":              {bearer: token(twin, job, now), job: job, want: report.ErrUnproven},
		"an expired token":                    {bearer: token(identity, job, now.Add(-tokenLife)), job: job, want: report.ErrUnproven},
		"a token for another job":             {bearer: token(identity, other, now), job: job, want: report.ErrOtherJob},
		"the token for a job that is unknown": {bearer: token(identity, other, now), job: other, want: report.ErrUnknownJob},
		"a token for another namespace":       {bearer: token(identity, elsewhere, now), job: elsewhere, want: report.ErrOtherJob},
	}
	check, err := identity.Identifier()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := check.Identify(t.Context(), tc.bearer, tc.job); !errors.Is(err, tc.want) {
				t.Errorf("Identify gave %v, want %v", err, tc.want)
			}
		})
	}
}
