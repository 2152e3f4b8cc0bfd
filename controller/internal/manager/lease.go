// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
)

// errDeposed ends a manager whose lease another one took over.
var errDeposed = errors.New("another manager leads by now")

// defaultRenewDeadline is that of controller-runtime.
const defaultRenewDeadline = 10 * time.Second

// patientLock keeps a leader in office while the API server is away.
//
// Without it a leader that cannot renew its lease for some seconds ends its
// process, and the report endpoint with it: no restart helps while the API server
// is away, so every report of a minute would be refused. Staying is safe, since a
// leader acts through the API server alone. When it is away for everybody there
// is no other leader. When only this process cannot reach it, the process can do
// nothing, and finds the other's name in the lease the moment it can: then it
// ends in good order.
type patientLock struct {
	resourcelock.Interface
	log     logr.Logger
	deposed func()

	// leading tells that the last word of the API server was that we lead,
	// away that it has not answered since.
	leading, away atomic.Bool
}

var _ resourcelock.Interface = (*patientLock)(nil)

// Create takes a lease that nobody has held so far.
func (l *patientLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.Interface.Create(ctx, record)
	l.leading.Store(err == nil && record.HolderIdentity == l.Identity())
	return err
}

// Update takes, renews or gives back the lease. A renewal that the API server
// does not answer counts as done.
func (l *patientLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	own := record.HolderIdentity == l.Identity()
	err := l.Interface.Update(ctx, record)
	switch {
	case err == nil:
		l.leading.Store(own)
		if l.away.Swap(false) {
			l.log.Info("lease is renewed again")
		}
	case own && l.leading.Load() && isAway(err):
		if !l.away.Swap(true) {
			l.log.Info("lease cannot be renewed; leading on until the API server says otherwise", "reason", err.Error())
		}
		return nil
	}
	return err
}

// Get reads who holds the lease.
func (l *patientLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != l.Identity() && l.leading.Swap(false) {
		l.deposed()
	}
	return record, raw, err
}

// isAway tells whether an error comes from no answer, or from one that says no
// more than that.
func isAway(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	code := status.Status().Code
	return code >= http.StatusInternalServerError || code == http.StatusTooManyRequests
}

// patientElection puts the lock into the options of a manager that elects.
func patientElection(options *ctrl.Options, cluster *rest.Config, log logr.Logger, deposed func()) error {
	if !options.LeaderElection {
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("naming this manager: %w", err)
	}
	deadline := defaultRenewDeadline
	if options.RenewDeadline != nil {
		deadline = *options.RenewDeadline
	}
	lock, err := resourcelock.NewFromKubeconfig(
		cmp.Or(options.LeaderElectionResourceLock, resourcelock.LeasesResourceLock),
		options.LeaderElectionNamespace, options.LeaderElectionID,
		resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())}, cluster, deadline)
	if err != nil {
		return fmt.Errorf("preparing the election of a leader: %w", err)
	}
	options.LeaderElectionResourceLockInterface = &patientLock{Interface: lock, log: log, deposed: deposed}
	return nil
}
