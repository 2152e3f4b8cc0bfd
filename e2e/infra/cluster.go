// SPDX-License-Identifier: Apache-2.0

// Package infra gives suites and demos a Kubernetes cluster without their
// knowing where it comes from.
//
// It owns the choice of a provider and what is common to all of them. It does
// not own how a provider works: modules builds a cluster from Go modules,
// existing takes one that is there.
package infra

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/milepost-dev/milepost/e2e/infra/existing"
	"github.com/milepost-dev/milepost/e2e/infra/modules"
)

// Cluster is a Kubernetes cluster to run things on.
type Cluster interface {
	// Up makes sure that the cluster runs and answers.
	Up(ctx context.Context) error
	// Down removes what Up has made.
	Down(ctx context.Context) error
	Access
	// LoadImage makes the image in an archive available to pods, which must
	// not ask for it to be pulled always.
	LoadImage(ctx context.Context, archive string) error
}

// Access is how a program reaches a cluster.
type Access interface {
	// Kubeconfig is the path of an administrator's kubeconfig.
	Kubeconfig() string
	// Command prepares a command that can reach the API server, Services and
	// pods. It has KUBECONFIG in its environment and kubectl on its PATH.
	Command(ctx context.Context, name string, args ...string) *exec.Cmd
	// Logs is a folder with logs of components, or empty if there is none.
	Logs() string
}

var (
	_ Cluster = (*modules.Cluster)(nil)
	_ Cluster = (*existing.Cluster)(nil)
)

// New returns the cluster the environment asks for: the one of
// $MILEPOST_E2E_KUBECONFIG if that is set, else one made from Go modules.
// What happens is told to progress, for people.
func New(progress io.Writer) (Cluster, error) {
	kubeconfig := os.Getenv(existing.KubeconfigVariable)
	if kubeconfig == "" {
		return modules.New(progress)
	}
	cluster, err := existing.New(kubeconfig, os.Getenv(existing.LoadVariable), progress)
	if err != nil {
		return nil, fmt.Errorf("using the cluster of %s: %w", existing.KubeconfigVariable, err)
	}
	return cluster, nil
}
