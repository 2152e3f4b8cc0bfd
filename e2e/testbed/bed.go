// SPDX-License-Identifier: Apache-2.0

// Package testbed is a cluster with Milepost on it, for end-to-end suites and the cluster demo.
//
// It owns how Milepost's images get onto the cluster, how its chart is installed and removed, and
// how a test reaches its ports. It does not own the cluster (e2e/infra) nor any expectation.
package testbed

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

const (
	// Namespace is where Milepost is installed, as in the documentation.
	Namespace = "kubeflow-system"
	// Release is the name of the Helm release; it gives the objects the names that published
	// clients expect.
	Release = "kubeflow-trainer"
	// ServiceName is the Service of webhook, status and metrics ports.
	ServiceName = "kubeflow-trainer-controller-manager"
)

// Bed talks to the cluster.
type Bed struct {
	Client    client.WithWatch
	Clientset kubernetes.Interface

	root string // of the repository
}

// Connect finds the cluster through KUBECONFIG, which Main and Enter set. It fails when the API
// server does not answer.
func Connect(ctx context.Context) (*Bed, error) {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), &clientcmd.ConfigOverrides{})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("loading the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = -1, -1 // tests poll; the client must not slow them down
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, trainer.AddToScheme, jobsetv1alpha2.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering types: %w", err)
		}
	}
	bed := &Bed{}
	if bed.root, err = repositoryRoot(); err != nil {
		return nil, err
	}
	if bed.Clientset, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	if _, err := bed.Clientset.Discovery().ServerVersionWithContext(ctx); err != nil {
		return nil, fmt.Errorf("reaching the cluster: %w", err)
	}
	if bed.Client, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	return bed, nil
}

// repositoryRoot is the nearest folder above the present one that holds go.work.
func repositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("finding the repository: no go.work in this folder or above it")
}
