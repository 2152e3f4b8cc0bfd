// SPDX-License-Identifier: Apache-2.0

package localrun

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/milepost-dev/milepost/controller/internal/localrun/localidentity"
	"github.com/milepost-dev/milepost/controller/internal/reportlink"
)

// renewalCheck is how often the age of the token is looked at. A timer for the
// renewal itself would stand still while the machine sleeps.
const renewalCheck = 30 * time.Second

// credentials is the private folder with the CA and the token.
type credentials struct {
	dir      string
	identity *localidentity.Identity
	clock    clock.WithTicker
	onError  func(error)
	stop     chan struct{}
	renewing sync.WaitGroup
}

// newCredentials writes both files and keeps the token fresh until close.
func newCredentials(ca []byte, identity *localidentity.Identity, c clock.WithTicker, onError func(error)) (*credentials, error) {
	dir, err := os.MkdirTemp("", "milepost-run-") // made with mode 0700
	if err != nil {
		return nil, fmt.Errorf("making the folder of the token: %w", err)
	}
	k := &credentials{dir: dir, identity: identity, clock: c, onError: onError, stop: make(chan struct{})}
	renew, err := k.writeToken()
	if err == nil {
		err = os.WriteFile(k.caFile(), ca, 0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("writing the credentials: %w", err), os.RemoveAll(dir))
	}
	k.renewing.Go(func() { k.keepFresh(renew) })
	return k, nil
}

func (k *credentials) caFile() string    { return filepath.Join(k.dir, reportlink.CACertFile) }
func (k *credentials) tokenFile() string { return filepath.Join(k.dir, reportlink.TokenFile) }

func (k *credentials) close() error {
	close(k.stop)
	k.renewing.Wait()
	return os.RemoveAll(k.dir)
}

func (k *credentials) keepFresh(renew time.Time) {
	ticker := k.clock.NewTicker(renewalCheck)
	defer ticker.Stop()
	for {
		select {
		case <-k.stop:
			return
		case <-ticker.C():
		}
		if k.clock.Now().Round(0).Before(renew) {
			continue
		}
		next, err := k.writeToken()
		if err != nil {
			k.onError(fmt.Errorf("renewing the token: %w", err))
			continue
		}
		renew = next
	}
}

// writeToken replaces the token in one step, so that no reader sees half of it.
func (k *credentials) writeToken() (renew time.Time, err error) {
	token, renew, err := k.identity.Token()
	if err != nil {
		return renew, err
	}
	fresh := k.tokenFile() + ".new"
	if err := os.WriteFile(fresh, []byte(token), 0o600); err != nil {
		return renew, err
	}
	return renew.Round(0), os.Rename(fresh, k.tokenFile())
}
