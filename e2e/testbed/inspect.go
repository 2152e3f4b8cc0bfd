// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/e2e/infra/dump"
)

// Kubectl runs kubectl and returns what it prints. The error holds what it complains about.
func (b *Bed) Kubectl(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "kubectl", args...).Output()
	if exit := (&exec.ExitError{}); errors.As(err, &exit) {
		err = fmt.Errorf("running kubectl %v: %w\n%s", args, err, exit.Stderr)
	}
	return string(out), err
}

// ReadManifest decodes a file of the repository. Fields that the type does not have are an error.
func (b *Bed) ReadManifest(path string, into any) error {
	content, err := os.ReadFile(filepath.Join(b.root, path))
	if err != nil {
		return fmt.Errorf("reading a manifest: %w", err)
	}
	if err := yaml.UnmarshalStrict(content, into); err != nil {
		return fmt.Errorf("reading manifest %s: %w", path, err)
	}
	return nil
}

// DeleteTrainJob deletes the TrainJob, if there is one, and waits until it and its JobSet are gone.
func (b *Bed) DeleteTrainJob(ctx context.Context, job *trainer.TrainJob) error {
	err := b.Client.Delete(ctx, job.DeepCopy(), client.PropagationPolicy(metav1.DeletePropagationForeground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting TrainJob %q: %w", job.Name, err)
	}
	key := client.ObjectKeyFromObject(job)
	err = wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		for _, object := range []client.Object{&trainer.TrainJob{}, &jobsetv1alpha2.JobSet{}} {
			if err := b.Client.Get(ctx, key, object); !apierrors.IsNotFound(err) {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for TrainJob %q to go: %w", job.Name, err)
	}
	return nil
}

// here is the cluster as a process sees it that Enter has put inside.
type here struct{}

func (here) Logs() string { return os.Getenv(logsVariable) }

func (here) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, name, args...)
}

// Dump writes the state of the cluster to a folder below artifacts/ of the repository and says
// where. Use it when something went wrong, before anything is cleaned up.
func (b *Bed) Dump(ctx context.Context, name string) error {
	dir := filepath.Join(b.root, "artifacts", "dump", strings.Map(fileRune, name))
	fmt.Fprintf(os.Stderr, "testbed: the state of the cluster is in %s\n", dir)
	return dump.Write(ctx, here{}, dir)
}

func fileRune(r rune) rune {
	if unicode.IsLetter(r) || unicode.IsDigit(r) {
		return r
	}
	return '-'
}
