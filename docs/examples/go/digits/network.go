// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"math/rand/v2"
)

// layer is one fully connected layer: out = weights · in + bias, with its gradient and momentum beside it.
type layer struct {
	in, out          int
	weights, bias    []float64 // weights row by row, one row for each output
	gradW, gradB     []float64
	momentW, momentB []float64
}

// network is a multi-layer perceptron: ReLU between the layers, softmax behind the last one.
type network struct {
	layers []*layer
	values [][]float64 // values[0] is the input, values[i+1] what layer i put out
	deltas [][]float64 // deltas[i] is the slope of the loss along the output of layer i
}

// newNetwork makes a network with the given number of values at each level, inputs first.
func newNetwork(rng *rand.Rand, sizes ...int) *network {
	n := &network{values: [][]float64{make([]float64, sizes[0])}}
	for i := 1; i < len(sizes); i++ {
		in, out := sizes[i-1], sizes[i]
		l := &layer{
			in: in, out: out,
			weights: make([]float64, in*out), bias: make([]float64, out),
			gradW: make([]float64, in*out), gradB: make([]float64, out),
			momentW: make([]float64, in*out), momentB: make([]float64, out),
		}
		// He initialisation keeps the size of the values the same from layer to layer under ReLU.
		scale := math.Sqrt(2 / float64(in))
		for w := range l.weights {
			l.weights[w] = rng.NormFloat64() * scale
		}
		n.layers = append(n.layers, l)
		n.values = append(n.values, make([]float64, out))
		n.deltas = append(n.deltas, make([]float64, out))
	}
	return n
}

// predict returns the probability of each class. The slice is valid until the next call.
func (n *network) predict(input []float64) []float64 {
	copy(n.values[0], input)
	for i, l := range n.layers {
		l.forward(n.values[i], n.values[i+1])
		if i < len(n.layers)-1 {
			relu(n.values[i+1])
		}
	}
	probabilities := n.values[len(n.layers)]
	softmax(probabilities)
	return probabilities
}

// learn adds the gradient of one example and returns its loss (cross entropy, in nats). step applies the gradients.
func (n *network) learn(input []float64, class int) float64 {
	probabilities := n.predict(input)
	loss := -math.Log(max(probabilities[class], 1e-12))

	last := len(n.layers) - 1
	copy(n.deltas[last], probabilities)
	n.deltas[last][class]-- // slope of cross entropy behind softmax
	for i := last; i >= 0; i-- {
		l := n.layers[i]
		l.addGradient(n.values[i], n.deltas[i])
		if i > 0 {
			l.backward(n.deltas[i], n.values[i], n.deltas[i-1])
		}
	}
	return loss
}

// step moves the weights against the mean gradient of the batch, with momentum, and clears the gradient.
func (n *network) step(rate, momentum float64, batch int) {
	for _, l := range n.layers {
		descend(l.weights, l.gradW, l.momentW, rate/float64(batch), momentum)
		descend(l.bias, l.gradB, l.momentB, rate/float64(batch), momentum)
	}
}

func (l *layer) forward(in, out []float64) {
	for o := range out {
		row := l.weights[o*l.in : (o+1)*l.in]
		sum := l.bias[o]
		for i, x := range in[:len(row)] {
			sum += row[i] * x
		}
		out[o] = sum
	}
}

func (l *layer) addGradient(in, delta []float64) {
	for o, d := range delta {
		if d == 0 {
			continue
		}
		l.gradB[o] += d
		row := l.gradW[o*l.in : (o+1)*l.in]
		for i, x := range in[:len(row)] {
			row[i] += d * x
		}
	}
}

// backward carries the slope from the output of the layer to its input, through the ReLU in between.
func (l *layer) backward(delta, in, inDelta []float64) {
	clear(inDelta)
	for o, d := range delta {
		if d == 0 {
			continue
		}
		row := l.weights[o*l.in : (o+1)*l.in]
		for i := range inDelta[:len(row)] {
			inDelta[i] += d * row[i]
		}
	}
	for i, x := range in {
		if x <= 0 {
			inDelta[i] = 0
		}
	}
}

func descend(weights, gradient, moment []float64, rate, momentum float64) {
	for i, g := range gradient {
		moment[i] = momentum*moment[i] - rate*g
		weights[i] += moment[i]
	}
	clear(gradient)
}

func relu(values []float64) {
	for i, v := range values {
		values[i] = max(v, 0)
	}
}

func softmax(values []float64) {
	top := values[0]
	for _, v := range values[1:] {
		top = max(top, v)
	}
	var sum float64
	for i, v := range values {
		values[i] = math.Exp(v - top)
		sum += values[i]
	}
	for i := range values {
		values[i] /= sum
	}
}
