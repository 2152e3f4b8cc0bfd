// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The gradient is the one thing that can be wrong while the loss still falls. Here it is measured from the outside: the
// loss a little to the left and to the right of each weight.
func TestLearnAddsTheSlopeOfTheLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 0))
	n := newNetwork(rng, 5, 7, 6, 3)
	input := make([]float64, 5)
	for i := range input {
		input[i] = rng.NormFloat64()
	}
	const class, nudge = 1, 1e-6
	loss := func() float64 { return -math.Log(n.predict(input)[class]) }

	n.learn(input, class)
	for number, l := range n.layers {
		for _, part := range []struct {
			name               string
			weights, gradients []float64
		}{{"weight", l.weights, l.gradW}, {"bias", l.bias, l.gradB}} {
			for i := range part.weights {
				old := part.weights[i]
				part.weights[i] = old + nudge
				right := loss()
				part.weights[i] = old - nudge
				left := loss()
				part.weights[i] = old
				want := (right - left) / (2 * nudge)
				if got := part.gradients[i]; math.Abs(got-want) > 1e-6 {
					t.Fatalf("layer %d: gradient of %s %d = %g, want %g", number, part.name, i, got, want)
				}
			}
		}
	}
}

func TestStepFollowsTheMeanGradientOnceAndClearsIt(t *testing.T) {
	n := newNetwork(rand.New(rand.NewPCG(1, 0)), 1, 1)
	l := n.layers[0]
	l.weights[0], l.gradW[0] = 3, 8

	n.step(0.5, 0, 4)
	if want := 3 - 0.5*8/4; l.weights[0] != want {
		t.Errorf("weight = %v, want %v", l.weights[0], want)
	}
	n.step(0.5, 0, 4)
	if want := 3 - 0.5*8/4; l.weights[0] != want {
		t.Errorf("weight after a step without a gradient = %v, want %v", l.weights[0], want)
	}
}

func TestSoftmaxStandsLargeValues(t *testing.T) {
	values := []float64{1000, 1000, -1000}
	softmax(values)
	for i, want := range []float64{0.5, 0.5, 0} {
		if math.Abs(values[i]-want) > 1e-12 {
			t.Errorf("value %d = %v, want %v", i, values[i], want)
		}
	}
}
