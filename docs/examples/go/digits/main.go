// SPDX-License-Identifier: Apache-2.0

// Command digits trains a small neural network to read handwritten digits and reports its progress.
//
// It owns a complete training program on real data in plain Go, and in report.go the shortest way from such a program to
// the status of its TrainJob. It does not own the endpoint: outside a TrainJob it trains all the same.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const exitInterrupted = 130 // as a shell has it for SIGINT

func main() {
	log.SetFlags(0)
	log.SetPrefix("digits: ")
	err := run()
	switch {
	case errors.Is(err, context.Canceled):
		log.Print("stopped before the end")
		os.Exit(exitInterrupted)
	case err != nil:
		log.Fatal(err)
	}
}

func run() error {
	epochs := flag.Int("epochs", 80, "times that the training images are gone through")
	batch := flag.Int("batch", 32, "images between two changes of the weights")
	seed := flag.Uint64("seed", 1, "start of the random numbers; the same seed gives the same result")
	logEvery := flag.Int("log-every", 5, "epochs between two lines of output")
	interval := flag.Duration("report-interval", time.Second, "least time between two progress reports; 5s is the advice on a cluster")
	flag.Parse()
	if flag.NArg() > 0 || *epochs < 1 || *batch < 1 || *logEvery < 1 || *interval <= 0 {
		flag.Usage()
		return errors.New("every number must be above zero, and there are no arguments")
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	examples, err := loadDigits()
	if err != nil {
		return err
	}
	reporter := startReporter(*interval, log.Printf)
	defer reporter.close()

	s := settings{epochs: *epochs, batch: *batch, hidden: []int{512, 256}, seed: *seed, logEvery: *logEvery}
	started := time.Now()
	t := newTrainer(s, examples, os.Stdout, reporter.report)
	got, err := t.run(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("trained for %s: %d of %d test images read right\n", time.Since(started).Round(100*time.Millisecond),
		int(got.accuracy*float64(len(t.test))+0.5), len(t.test))
	return nil
}
