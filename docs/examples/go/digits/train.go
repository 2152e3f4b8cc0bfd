// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"time"
)

const (
	learningRate = 0.05
	momentum     = 0.9
	maxShift     = 1 // pixels that a training image is moved at most
)

// settings say how long and how to train.
type settings struct {
	epochs, batch int
	hidden        []int // values in each hidden layer
	seed          uint64
	logEvery      int // epochs between two lines of output
}

// result is what came out of a training run.
type result struct {
	loss     float64 // mean over the last epoch, in nats
	accuracy float64 // share of the test images that were read right
	steps    int     // batches learned
}

// trainer holds one training run.
type trainer struct {
	settings settings
	network  *network
	train    []example
	test     []example
	rng      *rand.Rand
	out      io.Writer
	report   func(report)

	started    time.Time
	steps      int // done
	totalSteps int
	last       result
}

func newTrainer(s settings, examples []example, out io.Writer, report func(report)) *trainer {
	rng := rand.New(rand.NewPCG(s.seed, 0))
	sizes := append(append([]int{pixels}, s.hidden...), classes)
	train, test := split(examples, rng)
	batches := (len(train) + s.batch - 1) / s.batch
	return &trainer{
		settings: s, network: newNetwork(rng, sizes...), train: train, test: test,
		rng: rng, out: out, report: report, totalSteps: batches * s.epochs,
	}
}

// run trains until all epochs are done or the context ends. Only a complete run reports 100 %.
func (t *trainer) run(ctx context.Context) (result, error) {
	fmt.Fprintf(t.out, "training on %d images, testing on %d, %d epochs of %d steps\n",
		len(t.train), len(t.test), t.settings.epochs, t.totalSteps/t.settings.epochs)
	t.started = time.Now()
	t.report(t.state(0))
	for epoch := 1; epoch <= t.settings.epochs; epoch++ {
		loss, err := t.epoch(ctx, epoch)
		if err != nil {
			return t.last, err
		}
		t.last = result{loss: loss, accuracy: accuracy(t.network, t.test), steps: t.steps}
		t.report(t.state(epoch))
		if epoch%t.settings.logEvery == 0 || epoch == t.settings.epochs {
			fmt.Fprintf(t.out, "epoch %3d/%d  loss %.4f  test accuracy %.4f\n", epoch, t.settings.epochs, t.last.loss, t.last.accuracy)
		}
	}
	return t.last, nil
}

// epoch learns every training image once, in batches and in a new order, and returns the mean loss.
func (t *trainer) epoch(ctx context.Context, epoch int) (float64, error) {
	rate := learningRate * 0.5 * (1 + math.Cos(math.Pi*float64(epoch-1)/float64(t.settings.epochs)))
	order := t.rng.Perm(len(t.train))
	var loss float64
	for start := 0; start < len(order); start += t.settings.batch {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		batch := order[start:min(start+t.settings.batch, len(order))]
		for _, i := range batch {
			dx, dy := t.rng.IntN(2*maxShift+1)-maxShift, t.rng.IntN(2*maxShift+1)-maxShift
			moved := shift(&t.train[i].image, dx, dy)
			loss += t.network.learn(moved[:], t.train[i].digit)
		}
		t.network.step(rate, momentum, len(batch))
		t.steps++
		if t.steps < t.totalSteps {
			t.report(t.state(epoch))
		}
	}
	return loss / float64(len(order)), nil
}

// state describes the run as it is now.
func (t *trainer) state(epoch int) report {
	r := report{Metrics: []metric{{Name: "epoch", Value: strconv.Itoa(epoch)}}}
	if t.last.steps > 0 {
		r.Metrics = append(r.Metrics,
			metric{Name: "loss", Value: strconv.FormatFloat(t.last.loss, 'f', 4, 64)},
			metric{Name: "accuracy", Value: strconv.FormatFloat(t.last.accuracy, 'f', 4, 64)})
	}
	r.ProgressPercentage = new(t.steps * 100 / t.totalSteps)
	if seconds, known := remaining(time.Since(t.started), t.steps, t.totalSteps); known {
		r.EstimatedRemainingSeconds = new(seconds)
	}
	return r
}

// remaining estimates the seconds left from the steps this process has done itself. One step is too little to tell.
func remaining(elapsed time.Duration, done, total int) (seconds int, known bool) {
	if done < 2 {
		return 0, false
	}
	perStep := elapsed.Seconds() / float64(done)
	return int(math.Ceil(perStep * float64(max(total-done, 0)))), true
}

// accuracy returns the share of the examples that the network reads right.
func accuracy(n *network, examples []example) float64 {
	right := 0
	for i := range examples {
		probabilities := n.predict(examples[i].image[:])
		best := 0
		for class, p := range probabilities {
			if p > probabilities[best] {
				best = class
			}
		}
		if best == examples[i].digit {
			right++
		}
	}
	return float64(right) / float64(len(examples))
}
