// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"context"
	"fmt"
	"io"

	"github.com/milepost-dev/milepost/e2e/infra"
	"github.com/milepost-dev/milepost/e2e/infra/binaries"
	"github.com/milepost-dev/milepost/e2e/infra/images"
	"github.com/milepost-dev/milepost/e2e/pythonenv"
)

// Preparation makes ready what a suite needs beyond the images that all suites have. It runs
// before the tests and outside of the cluster's network, from which nothing can be fetched. It
// returns variables for the environment of the tests.
type Preparation func(ctx context.Context, outside Outside) ([]string, error)

// Outside is what a Preparation works with.
type Outside struct {
	// Root is the folder of the repository.
	Root string
	// Packages makes folders with Python packages.
	Packages pythonenv.Maker

	cluster  infra.Cluster
	store    images.Store
	progress io.Writer
}

func newOutside(cluster infra.Cluster, progress io.Writer) (Outside, error) {
	root, err := repositoryRoot()
	if err != nil {
		return Outside{}, err
	}
	cache, err := binaries.CacheDir()
	if err != nil {
		return Outside{}, fmt.Errorf("finding the cache: %w", err)
	}
	return Outside{
		Root:     root,
		Packages: pythonenv.Maker{Cache: cache, Output: progress},
		cluster:  cluster, store: images.NewStore(cache), progress: progress,
	}, nil
}

// LoadPython builds an image with Python and makes it available to pods.
func (o Outside) LoadPython(ctx context.Context, image images.Python) error {
	fmt.Fprintf(o.progress, "image %s\n", image.Reference)
	image.Output = o.progress
	archive, err := o.store.Python(ctx, image)
	if err != nil {
		return err
	}
	if err := o.cluster.LoadImage(ctx, archive); err != nil {
		return fmt.Errorf("loading image %s: %w", image.Reference, err)
	}
	return nil
}

// prepare runs preparations one after the other and collects their variables.
func prepare(ctx context.Context, cluster infra.Cluster, progress io.Writer, preparations []Preparation) ([]string, error) {
	if len(preparations) == 0 {
		return nil, nil
	}
	outside, err := newOutside(cluster, progress)
	if err != nil {
		return nil, err
	}
	var variables []string
	for _, preparation := range preparations {
		more, err := preparation(ctx, outside)
		if err != nil {
			return nil, fmt.Errorf("preparing the suite: %w", err)
		}
		variables = append(variables, more...)
	}
	return variables, nil
}
