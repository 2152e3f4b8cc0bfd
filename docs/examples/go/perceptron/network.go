// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"math/rand/v2"
)

const rate = 0.01 // of learning

// network has one hidden layer of rectifiers and tells the probability of each class.
type network struct {
	rng            *rand.Rand
	hidden, output layer
}

// layer holds the weights of each unit, its bias behind them, and what the units put out last.
type layer struct {
	weights [][]float64
	values  []float64
}

func newNetwork(inputs, hidden, classes int) *network {
	rng := rand.New(rand.NewPCG(1, 0)) // the same numbers in each run
	return &network{rng: rng, hidden: newLayer(rng, inputs, hidden), output: newLayer(rng, hidden, classes)}
}

func newLayer(rng *rand.Rand, inputs, units int) layer {
	l := layer{weights: make([][]float64, units), values: make([]float64, units)}
	for unit := range l.weights {
		l.weights[unit] = make([]float64, inputs+1)
		for i := range inputs {
			l.weights[unit][i] = rng.NormFloat64() * math.Sqrt(2/float64(inputs))
		}
	}
	return l
}

// learn goes through the examples once, in a new order, and returns the mean loss.
func (n *network) learn(examples []example) float64 {
	var loss float64
	for _, i := range n.rng.Perm(len(examples)) {
		loss += n.learnOne(examples[i].image, examples[i].digit)
	}
	return loss / float64(len(examples))
}

// learnOne moves all weights a little down the slope of the loss, which is the cross entropy.
func (n *network) learnOne(image []float64, digit int) float64 {
	n.predict(image)
	loss := -math.Log(n.output.values[digit])
	n.output.values[digit]-- // the values are now the slopes along the sums of the output units
	slopes := n.output.descend(n.hidden.values, n.output.values)
	for unit, value := range n.hidden.values {
		if value == 0 {
			slopes[unit] = 0
		}
	}
	n.hidden.descend(image, slopes)
	return loss
}

// accuracy is the share of the examples that are read right.
func (n *network) accuracy(examples []example) float64 {
	right := 0
	for _, e := range examples {
		if n.predict(e.image) == e.digit {
			right++
		}
	}
	return float64(right) / float64(len(examples))
}

// predict fills in the values of both layers and returns the likeliest class.
func (n *network) predict(image []float64) int {
	n.hidden.sum(image)
	for unit, value := range n.hidden.values {
		n.hidden.values[unit] = max(value, 0)
	}
	n.output.sum(n.hidden.values)
	best, total := 0, 0.0
	for class, value := range n.output.values {
		if value > n.output.values[best] {
			best = class
		}
		total += math.Exp(value)
	}
	for class, value := range n.output.values {
		n.output.values[class] = math.Exp(value) / total
	}
	return best
}

func (l layer) sum(inputs []float64) {
	for unit, weights := range l.weights {
		sum := weights[len(inputs)]
		for i, input := range inputs {
			sum += weights[i] * input
		}
		l.values[unit] = sum
	}
}

// descend changes the weights and returns the slopes along the inputs.
func (l layer) descend(inputs, slopes []float64) []float64 {
	below := make([]float64, len(inputs))
	for unit, weights := range l.weights {
		for i, input := range inputs {
			below[i] += weights[i] * slopes[unit]
			weights[i] -= rate * slopes[unit] * input
		}
		weights[len(inputs)] -= rate * slopes[unit]
	}
	return below
}
