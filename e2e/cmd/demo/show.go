// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/e2e/testbed"
)

const further = `
Look further:
  go run ./e2e/cmd/cluster exec -- kubectl get trainjobs
  go run ./e2e/cmd/cluster exec -- kubectl describe trainjob digits
  go run ./e2e/cmd/cluster exec -- kubectl get trainjob digits -o jsonpath='{.status.trainerStatus}'
  go run ./e2e/cmd/cluster exec -- kubectl logs -l jobset.sigs.k8s.io/jobset-name=digits
Remove everything:
  go tool mage cluster:down
`

// show installs Milepost, runs the sample and prints a row whenever what it shows has changed.
func show(ctx context.Context, bed *testbed.Bed, out io.Writer) error {
	fmt.Fprintln(out, "Installing the chart charts/milepost …")
	if err := bed.Install(ctx, testbed.Helm4); err != nil {
		return err
	}
	job, err := submit(ctx, bed)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Submitted %s. What `kubectl get trainjob --watch` and the metrics say:\n\n", sample)
	final, err := follow(ctx, bed, job, newTable(out))
	if err != nil {
		return err
	}
	fmt.Fprint(out, further)
	if final != trainer.TrainJobStateComplete {
		return fmt.Errorf("the sample TrainJob ended %s", final)
	}
	return nil
}

// submit replaces the sample of an earlier run.
func submit(ctx context.Context, bed *testbed.Bed) (*trainer.TrainJob, error) {
	job := &trainer.TrainJob{}
	if err := bed.ReadManifest(sample, job); err != nil {
		return nil, err
	}
	if err := bed.DeleteTrainJob(ctx, job); err != nil {
		return nil, err
	}
	if err := bed.Client.Create(ctx, job); err != nil {
		return nil, fmt.Errorf("submitting the sample: %w", err)
	}
	return job, nil
}

// follow prints the TrainJob's rows until it is finished and returns its last state. A watch that
// the API server ends is begun again.
func follow(ctx context.Context, bed *testbed.Bed, job *trainer.TrainJob, rows *table) (trainer.TrainJobState, error) {
	for {
		events, err := bed.Client.Watch(ctx, &trainer.TrainJobList{}, client.InNamespace(job.Namespace),
			client.MatchingFields{metav1.ObjectNameField: job.Name})
		if err != nil {
			return "", fmt.Errorf("watching the TrainJob: %w", err)
		}
		state, err := followOnce(events, rows)
		events.Stop()
		if err != nil || state != "" {
			return state, err
		}
		if err := ctx.Err(); err != nil {
			return "", err
		}
	}
}

func followOnce(events watch.Interface, rows *table) (trainer.TrainJobState, error) {
	for event := range events.ResultChan() {
		job, ok := event.Object.(*trainer.TrainJob)
		switch {
		case event.Type == watch.Deleted:
			return "", errors.New("the TrainJob was deleted")
		case !ok:
			return "", nil // an expired watch; begun again
		}
		rows.add(job)
		if state := job.Status.State; state == trainer.TrainJobStateComplete || state == trainer.TrainJobStateFailed {
			return state, nil
		}
	}
	return "", nil
}
