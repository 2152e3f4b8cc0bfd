// SPDX-License-Identifier: Apache-2.0

// Package existing uses a cluster that somebody else runs.
//
// It owns nothing of that cluster: Up only checks that it answers and Down
// leaves it as it is.
package existing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/milepost-dev/milepost/e2e/infra/binaries"
)

const (
	// KubeconfigVariable names the environment variable with the path of the
	// cluster's kubeconfig.
	KubeconfigVariable = "MILEPOST_E2E_KUBECONFIG"
	// LoadVariable names the environment variable with a command that makes an
	// image archive available to the cluster's nodes. The path of the archive
	// is added to it.
	LoadVariable = "MILEPOST_E2E_LOAD_IMAGE"
)

// Cluster is reached through a kubeconfig.
type Cluster struct {
	kubeconfig string
	load       []string
	builder    *binaries.Builder
	tools      string
}

// New returns the cluster of a kubeconfig. load is the command of
// MILEPOST_E2E_LOAD_IMAGE and may be empty.
func New(kubeconfig, load string, progress io.Writer) (*Cluster, error) {
	absolute, err := filepath.Abs(kubeconfig)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(absolute); err != nil {
		return nil, err
	}
	builder, err := binaries.New(progress)
	if err != nil {
		return nil, err
	}
	return &Cluster{kubeconfig: absolute, load: strings.Fields(load), builder: builder}, nil
}

// Up checks that the API server answers.
func (c *Cluster) Up(ctx context.Context) error {
	tools, err := c.builder.Folder(ctx, "tools", "kubectl")
	if err != nil {
		return err
	}
	c.tools = tools
	output, err := c.Command(ctx, "kubectl", "get", "--raw=/readyz", "--request-timeout=10s").CombinedOutput()
	if err != nil {
		return fmt.Errorf("asking the API server of %s whether it is ready: %w: %s", c.kubeconfig, err, strings.TrimSpace(string(output)))
	}
	return nil
}

// Down leaves the cluster alone.
func (c *Cluster) Down(context.Context) error { return nil }

// Kubeconfig is the path New was given.
func (c *Cluster) Kubeconfig() string { return c.kubeconfig }

// Logs is empty: the components of the cluster are out of reach.
func (c *Cluster) Logs() string { return "" }

// Command prepares a command with KUBECONFIG set and, after Up, kubectl on its
// PATH. It reaches Services and pods only as far as this machine does.
func (c *Cluster) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	path := os.Getenv("PATH")
	if c.tools != "" {
		path = c.tools + string(os.PathListSeparator) + path
	}
	// env resolves the name with the new PATH; exec would use our own.
	command := exec.CommandContext(ctx, "env", append([]string{name}, args...)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig, "PATH="+path)
	return command
}

// LoadImage runs the command of MILEPOST_E2E_LOAD_IMAGE.
func (c *Cluster) LoadImage(ctx context.Context, archive string) error {
	if len(c.load) == 0 {
		return errors.New("no way to load images into this cluster: set " + LoadVariable +
			` to a command that takes an archive, such as "kind load image-archive"`)
	}
	line := append(append([]string{}, c.load...), archive)
	output, err := c.Command(ctx, line[0], line[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("loading image %s: %w: %s", filepath.Base(archive), err, strings.TrimSpace(string(output)))
	}
	return nil
}
