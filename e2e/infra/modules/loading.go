// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/milepost-dev/milepost/e2e/infra/images"
)

const (
	// imageNamespace is where kubelet's images are within containerd.
	imageNamespace = "k8s.io"
	// sandboxImage is what the first process of every pod runs.
	sandboxImage = "localhost/milepost/sandbox:1"
	// jobsetRepository is the name JobSet's releases have.
	jobsetRepository = "registry.k8s.io/jobset/jobset"
)

// baseImages returns the archives every cluster starts with.
func (c *Cluster) baseImages(ctx context.Context) ([]string, error) {
	sandbox, err := c.images.Go(ctx, images.Go{
		Package:   "github.com/milepost-dev/milepost/e2e/images/sandbox",
		Reference: sandboxImage,
		Output:    c.progress,
	})
	if err != nil {
		return nil, err
	}
	jobset, err := c.jobsetImage(ctx)
	if err != nil {
		return nil, err
	}
	return []string{sandbox, jobset}, nil
}

// jobsetImage packs JobSet's controller the way its own image does, so that
// charts and manifests of JobSet need no change.
func (c *Cluster) jobsetImage(ctx context.Context) (string, error) {
	binary, err := c.builder.Path(ctx, "jobset")
	if err != nil {
		return "", err
	}
	version, err := c.builder.Version("jobset")
	if err != nil {
		return "", err
	}
	return c.images.Binary(binary, "/manager", jobsetRepository+":"+version)
}

func (c *Cluster) importImage(ctx context.Context, archive string) error {
	output, err := c.Command(ctx, "ctr", "images", "import", archive).CombinedOutput()
	if err != nil {
		return fmt.Errorf("loading image %s: %w: %s", filepath.Base(archive), err, strings.TrimSpace(string(output)))
	}
	return nil
}
