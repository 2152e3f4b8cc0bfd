// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Helm names one of the pinned Helm programs.
type Helm string

// The versions of Helm that the chart must work with.
const (
	Helm3 Helm = "helm3"
	Helm4 Helm = "helm4"
)

// Install installs or upgrades the chart of this repository with the images of DefaultImages and
// waits until the manager is available. More arguments go to Helm as they are.
func (b *Bed) Install(ctx context.Context, helm Helm, args ...string) error {
	registry, repository, tag := splitReference(DefaultImages().Manager)
	command := append([]string{
		"upgrade", "--install", Release, filepath.Join(b.root, "charts", "milepost"),
		"--namespace", Namespace, "--create-namespace", "--wait", "--timeout", "3m",
		"--set", "image.registry=" + registry,
		"--set", "image.repository=" + repository,
		"--set", "image.tag=" + tag,
		"--set", "runtimes.torchDistributed.enabled=true",
		// The tag stays the same while the code changes: this makes Helm roll the pods when it did.
		"--set-string", "manager.podAnnotations.milepost-image=" + os.Getenv(managerVariable),
	}, args...)
	if out, err := exec.CommandContext(ctx, string(helm), command...).CombinedOutput(); err != nil {
		return fmt.Errorf("installing the chart with %s: %w\n%s", helm, err, out)
	}
	return nil
}

// Uninstall removes the release and its namespace and waits until both are gone.
func (b *Bed) Uninstall(ctx context.Context, helm Helm) error {
	out, err := exec.CommandContext(ctx, string(helm), "uninstall", Release, "--namespace", Namespace, "--wait", "--timeout", "3m").CombinedOutput()
	if err != nil {
		return fmt.Errorf("removing the chart with %s: %w\n%s", helm, err, out)
	}
	return b.DeleteNamespace(ctx, Namespace)
}

// DeleteNamespace deletes the namespace and waits until it is gone.
func (b *Bed) DeleteNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := b.Client.Delete(ctx, namespace); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting namespace %q: %w", name, err)
	}
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		err := b.Client.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("waiting for namespace %q to go: %w", name, err)
	}
	return nil
}

// splitReference cuts "registry/repository:tag" into the three values of the chart.
func splitReference(reference string) (registry, repository, tag string) {
	registry, rest, _ := strings.Cut(reference, "/")
	repository, tag, _ = strings.Cut(rest, ":")
	return registry, repository, tag
}
