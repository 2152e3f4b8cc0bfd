// SPDX-License-Identifier: Apache-2.0

package milepost_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/signal"
	"slices"
	"syscall"

	milepost "github.com/milepost-dev/milepost/reporters/go"
)

// quiet keeps the line about the missing TrainJob out of the examples.
var quiet = milepost.WithLogger(slog.New(slog.DiscardHandler))

func Example() {
	m := milepost.Start(quiet)
	defer m.Close()

	const total = 1000
	for step := int64(1); step <= total; step++ {
		loss := 1 / float64(step)
		m.Report(milepost.Step(step, total), milepost.Metric("loss", loss))
	}
	m.Complete(milepost.Metric("accuracy", 0.97))

	fmt.Println("inside a TrainJob:", m.Active())
	// Output: inside a TrainJob: false
}

func ExampleTrack() {
	m := milepost.Start(quiet)
	defer m.Close()

	batches := []string{"a", "b", "c"}
	loss := 1.0
	metrics := func() []milepost.Part { return []milepost.Part{milepost.Metric("loss", loss)} }
	for batch := range milepost.Track(m, slices.Values(batches), int64(len(batches)), metrics) {
		loss /= 2
		fmt.Println(batch, loss)
	}
	// Output:
	// a 0.5
	// b 0.25
	// c 0.125
}

func ExampleReporter_Report() {
	m := milepost.Start(quiet)
	defer m.Close()

	m.Report(
		milepost.Step(450, 1000),
		milepost.Metric("loss", 0.2),
		milepost.Group("eval", milepost.Metric("accuracy", 0.91), milepost.Metric("f1", 0.88)),
		milepost.Metrics{"learning rate": 1e-4, "epoch": 3},
		milepost.Keep("eval/accuracy"),
	)
	// Output:
}

func ExampleReporter_Fail() {
	train := func() error { return errors.New("out of memory") }

	m := milepost.Start(quiet)
	defer m.Close()
	if err := train(); err != nil {
		m.Fail(err) // the last report stays as it is, never 100 %
		fmt.Println(err)
		return
	}
	m.Complete()
	// Output: out of memory
}

func ExampleReporter_Stored() {
	m := milepost.Start(quiet)
	defer m.Close()

	if stored, ok := m.Stored(context.Background()); ok && stored.Percent != nil {
		fmt.Printf("going on at %d %%\n", *stored.Percent)
	} else {
		fmt.Println("starting anew")
	}
	// Output: starting anew
}

func ExampleWithContext() {
	// A program that handles signals by itself hands its context to the reporter.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	m := milepost.Start(quiet, milepost.WithContext(ctx))
	defer m.Close()
	// Output:
}
