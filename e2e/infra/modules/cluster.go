// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/milepost-dev/milepost/e2e/infra/binaries"
	"github.com/milepost-dev/milepost/e2e/infra/images"
)

// StateVariable names the environment variable that moves the state folder.
const StateVariable = "MILEPOST_STATE"

// DefaultState is where a cluster keeps everything it needs.
const DefaultState = "/var/lib/" + defaultName

// Cluster is a one-node cluster on this machine. There may be several, each
// with a state folder of its own.
type Cluster struct {
	layout   layout
	builder  *binaries.Builder
	images   images.Store
	progress io.Writer
}

// New returns the cluster of the state folder $MILEPOST_STATE, whether it runs
// or not. What it does and how long that takes is told to progress.
func New(progress io.Writer) (*Cluster, error) {
	state := os.Getenv(StateVariable)
	if state == "" {
		state = DefaultState
	}
	layout, err := newLayout(state)
	if err != nil {
		return nil, err
	}
	builder, err := binaries.New(progress)
	if err != nil {
		return nil, err
	}
	return &Cluster{
		layout:   layout,
		builder:  builder,
		images:   images.NewStore(builder.Cache()),
		progress: progress,
	}, nil
}

// Kubeconfig is the path of an administrator's kubeconfig. It only works for
// programs started by Command.
func (c *Cluster) Kubeconfig() string { return c.layout.kubeconfig(admin) }

// Logs is the folder with the logs of all components and pods.
func (c *Cluster) Logs() string { return c.layout.logs() }

// Command prepares a command that runs inside the cluster's network, with
// KUBECONFIG set and kubectl and ctr on its PATH. Its Err says so if there is
// no cluster.
func (c *Cluster) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	line := append([]string{"--net=" + c.layout.networkNamespace(), "--", name}, args...)
	command := exec.CommandContext(ctx, "nsenter", line...)
	command.Env = append(os.Environ(),
		"KUBECONFIG="+c.Kubeconfig(),
		"CONTAINERD_ADDRESS="+c.layout.containerdSocket(),
		"CONTAINERD_NAMESPACE="+imageNamespace,
		"PATH="+c.layout.path("bin")+":"+os.Getenv("PATH"),
	)
	if command.Err == nil {
		command.Err = c.reachable()
	}
	return command
}

// reachable says why a command could not enter the cluster, better than nsenter would.
func (c *Cluster) reachable() error {
	if err := CheckMachine(); err != nil {
		return err
	}
	if _, err := os.Stat(c.layout.networkNamespace()); err != nil {
		return fmt.Errorf("cluster %s is not running, start it with `go tool mage cluster:up`", c.layout.name)
	}
	return nil
}

// LoadImage makes the image of an archive available to pods.
func (c *Cluster) LoadImage(ctx context.Context, archive string) error {
	absolute, err := filepath.Abs(archive)
	if err != nil {
		return err
	}
	return c.importImage(ctx, absolute)
}

// kubectl runs kubectl inside the cluster and returns what it prints.
func (c *Cluster) kubectl(ctx context.Context, args ...string) ([]byte, error) {
	return c.Command(ctx, "kubectl", args...).Output()
}

// lock keeps a second `up` or `down` out. The file is not in the state folder,
// because that is removed under the lock.
func (c *Cluster) lock(ctx context.Context) (func(), error) {
	dir := filepath.Join(c.builder.Cache(), "locks")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("locking the cluster: %w", err)
	}
	lock := flock.New(filepath.Join(dir, c.layout.name+".lock"))
	free, err := lock.TryLock()
	if err == nil && !free {
		c.say("waiting for another process that changes the cluster")
		_, err = lock.TryLockContext(ctx, 200*time.Millisecond)
	}
	if err != nil {
		return nil, fmt.Errorf("locking the cluster: %w", err)
	}
	return func() { _ = lock.Unlock() }, nil // the kernel drops the lock at exit in any case
}

func (c *Cluster) say(format string, args ...any) {
	_, _ = fmt.Fprintf(c.progress, format+"\n", args...) // progress is a courtesy
}
