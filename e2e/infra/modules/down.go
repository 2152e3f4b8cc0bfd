// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Down removes the cluster and everything it has left on the machine, in
// whatever state it is. It is no error if there is none.
func (c *Cluster) Down(ctx context.Context) error {
	if err := c.check(); err != nil {
		return err
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return c.remove(ctx)
}

// check refuses what cannot work before anything is changed.
func (c *Cluster) check() error {
	if err := CheckMachine(); err != nil {
		return err
	}
	return c.layout.checkState()
}

// remove kills instead of asking politely: nothing of the state survives, so
// nothing is worth saving. The kubelet goes first, else it would start pods
// again; shims go before containerd, which would report the dead containers.
func (c *Cluster) remove(ctx context.Context) error {
	l := c.layout
	steps := []struct {
		doing string
		do    func() error
	}{
		{"stopping the kubelet", func() error { return killUntilNone(ctx, "kubelet", l.markedIDs(kubelet)) }},
		{"stopping pods", func() error { return killUntilNone(ctx, "processes of pods", l.podProcesses) }},
		{"stopping shims", func() error { return killUntilNone(ctx, "shims", l.markedIDs("containerd-shim-runc-v2")) }},
		{"stopping components", func() error { return killUntilNone(ctx, "components", l.markedIDs()) }},
		{"removing cgroups", l.removeCgroups},
		{"removing the network", func() error { return l.removeNetwork(ctx) }},
		{"unmounting", func() error { return l.unmount(ctx) }},
		{"removing the state folder", l.removeState},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.doing, err)
		}
	}
	return nil
}

// unmount finds something only when a pod has managed to mount outside the
// node's mount namespace; what is mounted must not be deleted with the state.
func (l layout) unmount(ctx context.Context) error {
	points, err := mountsBelow(l.state)
	if err != nil {
		return err
	}
	for _, point := range points {
		if err := run(ctx, "unmounting "+point, "umount", "--lazy", point); err != nil {
			return err
		}
	}
	return nil
}

// removeState takes the fingerprint last, so that an interrupted removal can be
// taken up again.
func (l layout) removeState() error {
	entries, err := os.ReadDir(l.state)
	if err != nil {
		return ignoreGone(err)
	}
	for _, entry := range entries {
		if path := l.path(entry.Name()); path != l.fingerprint() {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	if err := os.RemoveAll(l.state); err != nil {
		return err
	}
	return l.removeMountPoints()
}

// removeMountPoints removes the folders the node's mounts lay on. Removing one
// that another cluster has mounted something on would unmount it there.
func (l layout) removeMountPoints() error {
	others, err := l.othersRun()
	if err != nil || others {
		return err
	}
	var errs []error
	for target := range l.nodeMounts() {
		errs = append(errs, removeIfEmpty(target))
	}
	return errors.Join(errs...)
}

// checkState refuses a folder that holds something else than a cluster.
func (l layout) checkState() error {
	entries, err := os.ReadDir(l.state)
	if errors.Is(err, os.ErrNotExist) || (err == nil && len(entries) == 0) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = os.Stat(l.fingerprint())
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s holds something else than a cluster, set %s to another folder", l.state, StateVariable)
	}
	return err
}
