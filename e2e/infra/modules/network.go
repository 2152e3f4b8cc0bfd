// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// networkScript gives the namespace the node's addresses on its loopback. The
// route makes connections from the node to Services possible: without one the
// kernel gives up before kube-proxy's rules are asked.
const networkScript = `
ip link set lo up
ip address add ` + nodeAddress + `/32 dev lo
ip address add ` + dnsAddress + `/32 dev lo
ip route add ` + serviceCIDR + ` dev lo src ` + nodeAddress + `
echo 1 > /proc/sys/net/ipv4/ip_forward
`

// createNetwork makes the namespace under the name `ip netns` knows it by.
func (l layout) createNetwork(ctx context.Context) error {
	path := l.networkNamespace()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making the network namespace: %w", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return fmt.Errorf("making the network namespace: %w", err)
	}
	return run(ctx, "making the network namespace", "unshare", "--net="+path, "--", "sh", "-ec", networkScript)
}

func (l layout) removeNetwork(ctx context.Context) error {
	path := l.networkNamespace()
	mounted, err := mountsBelow(path)
	if err != nil {
		return err
	}
	for range mounted {
		if err := run(ctx, "unmounting the network namespace", "umount", path); err != nil {
			return err
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the network namespace: %w", err)
	}
	return removeIfEmpty(filepath.Dir(path))
}

// removeIfEmpty removes a folder nobody else has put anything into.
func removeIfEmpty(dir string) error {
	err := os.Remove(dir)
	for _, fine := range []error{os.ErrNotExist, syscall.ENOTEMPTY, syscall.EBUSY} {
		if errors.Is(err, fine) {
			return nil
		}
	}
	return err
}

// run runs a command whose output only matters when it fails.
func run(ctx context.Context, doing, name string, args ...string) error {
	output, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", doing, err, strings.TrimSpace(string(output)))
	}
	return nil
}
