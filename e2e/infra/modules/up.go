// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// programNames are what a cluster needs built. All but kubectl and ctr are run
// by their components or by containerd.
var programNames = []string{
	etcd, apiServer, controllerManager, scheduler, proxy, dns, containerd, kubelet,
	"containerd-shim-runc-v2", "runc", "ptp", "loopback", "host-local", "portmap", "kubectl", "ctr",
}

// Up makes sure that the cluster runs: a healthy one of the same versions is
// kept, anything else is removed first.
func (c *Cluster) Up(ctx context.Context) error {
	if err := c.check(); err != nil {
		return err
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	begin := time.Now()
	parts, err := c.gather(ctx)
	if err != nil {
		return err
	}
	reusable, err := c.reusable(ctx, parts.fingerprint)
	if err != nil {
		return err
	}
	if reusable {
		c.say("cluster %s is running", c.layout.name)
		return nil
	}
	if err := c.remove(ctx); err != nil {
		return fmt.Errorf("clearing what an earlier cluster left: %w", err)
	}
	c.say("starting cluster %s", c.layout.name)
	if err := c.prepare(ctx, parts); err != nil {
		return err
	}
	if err := c.launch(ctx, parts); err != nil {
		return fmt.Errorf("starting the cluster, logs are in %s: %w", c.Logs(), err)
	}
	c.say("cluster %s is ready after %s", c.layout.name, time.Since(begin).Round(100*time.Millisecond))
	return nil
}

// parts is what a cluster is made of.
type parts struct {
	programs    string // folder
	images      []string
	values      configuration
	fingerprint string
}

func (c *Cluster) gather(ctx context.Context) (parts, error) {
	programs, err := c.builder.Folder(ctx, "cluster", programNames...)
	if err != nil {
		return parts{}, err
	}
	images, err := c.baseImages(ctx)
	if err != nil {
		return parts{}, err
	}
	mounts, err := readMounts()
	if err != nil {
		return parts{}, err
	}
	values := c.layout.configuration(programs, snapshotterFor(c.layout.state, mounts), sandboxImage)
	fingerprint, err := c.layout.fingerprintOf(values, images)
	if err != nil {
		return parts{}, err
	}
	return parts{programs: programs, images: images, values: values, fingerprint: fingerprint}, nil
}

// making is part of every fingerprint: raise it when clusters made by older code
// must not be kept although all else is the same.
const making = "2"

// fingerprintOf sums up versions, images, configuration and arguments. The
// folder of programs and the archives have their versions in their names.
func (l layout) fingerprintOf(values configuration, images []string) (string, error) {
	sum := sha256.New()
	_, _ = fmt.Fprint(sum, making, values, images, l.components(), networkScript) // a hash never fails
	for _, source := range slices.Sorted(maps.Values(configurationFiles)) {
		content, err := render(source, values)
		if err != nil {
			return "", err
		}
		_, _ = sum.Write(content)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// prepare puts everything in place that processes will look for.
func (c *Cluster) prepare(ctx context.Context, p parts) error {
	l := c.layout
	if err := l.createFolders(p.fingerprint); err != nil {
		return fmt.Errorf("making the state folder: %w", err)
	}
	for _, tool := range []string{"kubectl", "ctr"} {
		if err := os.Symlink(filepath.Join(p.programs, tool), l.path("bin", tool)); err != nil {
			return fmt.Errorf("linking %s: %w", tool, err)
		}
	}
	if err := l.writeIdentities(time.Now()); err != nil {
		return err
	}
	if err := l.writeConfiguration(p.values); err != nil {
		return err
	}
	if err := l.createCgroups(); err != nil {
		return err
	}
	return l.createNetwork(ctx)
}

// createFolders writes the fingerprint before anything else, because a folder
// without one is taken for somebody else's.
func (l layout) createFolders(fingerprint string) error {
	if err := os.MkdirAll(l.state, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(l.fingerprint(), []byte(fingerprint), 0o644); err != nil {
		return err
	}
	private := []string{l.path("pki"), l.path("kubeconfig"), l.path("etcd")}
	public := []string{l.path("config"), l.path("bin"), l.path("run"), l.logs()}
	for target, source := range l.nodeMounts() {
		public = append(public, target, source)
	}
	for _, dir := range private {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	for _, dir := range public {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}
