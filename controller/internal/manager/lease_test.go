// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"testing"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// injectedLock is a lease whose API server fails with the errors of a test.
type injectedLock struct {
	resourcelock.Interface
	holder string
	fault  error
}

func (l *injectedLock) Identity() string { return "us" }

func (l *injectedLock) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	if l.fault == nil {
		l.holder = r.HolderIdentity
	}
	return l.fault
}

func (l *injectedLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: l.holder}, nil, l.fault
}

var leases = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

func TestRenewalsUnderInjectedFaults(t *testing.T) {
	cases := map[string]struct {
		leads   bool
		fault   error
		wantErr bool
	}{
		"a leader stays while nobody answers":                  {leads: true, fault: errors.New("connection refused")},
		"a leader stays while the API server is overloaded":    {leads: true, fault: apierrors.NewTooManyRequests("later", 1)},
		"a leader stays while the API server cannot store":     {leads: true, fault: apierrors.NewInternalError(errors.New("no leader of etcd"))},
		"a leader learns that the lease was changed":           {leads: true, fault: apierrors.NewConflict(leases, "x", nil), wantErr: true},
		"a leader learns that it lacks the right":              {leads: true, fault: apierrors.NewForbidden(leases, "x", nil), wantErr: true},
		"a candidate does not take a lease that it cannot see": {fault: errors.New("connection refused"), wantErr: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inner := &injectedLock{holder: "them"}
			lock := &patientLock{Interface: inner, log: logr.Discard(), deposed: func() { t.Error("deposed") }}
			own := resourcelock.LeaderElectionRecord{HolderIdentity: "us"}
			if tc.leads {
				if err := lock.Update(t.Context(), own); err != nil {
					t.Fatal(err)
				}
			}
			inner.fault = tc.fault
			if err := lock.Update(t.Context(), own); (err != nil) != tc.wantErr {
				t.Errorf("Update returns %v, want an error: %t", err, tc.wantErr)
			}
		})
	}
}

func TestALeaderThatFindsAnotherInOfficeIsDeposedOnce(t *testing.T) {
	deposed := 0
	inner := &injectedLock{}
	lock := &patientLock{Interface: inner, log: logr.Discard(), deposed: func() { deposed++ }}
	if err := lock.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "us"}); err != nil {
		t.Fatal(err)
	}
	inner.holder = "them"
	for range 2 {
		if _, _, err := lock.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if deposed != 1 {
		t.Errorf("deposed %d times, want once", deposed)
	}
}

func TestALeaseThatIsGivenBackIsNotHeldOnTo(t *testing.T) {
	inner := &injectedLock{}
	lock := &patientLock{Interface: inner, log: logr.Discard(), deposed: func() { t.Error("deposed") }}
	for _, holder := range []string{"us", ""} {
		if err := lock.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: holder}); err != nil {
			t.Fatal(err)
		}
	}
	inner.fault = errors.New("connection refused")
	if err := lock.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "us"}); err == nil {
		t.Error("a lease that was given back is taken without the API server")
	}
}
