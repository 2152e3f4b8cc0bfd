// SPDX-License-Identifier: Apache-2.0

// Command perceptron trains a small neural network to read handwritten digits and reports its progress with the reporter
// for Go.
//
//	perceptron digits.csv.gz [EPOCHS]
package main

import (
	"fmt"
	"log"
	"os"
	"strconv"

	milepost "github.com/milepost-dev/milepost/reporters/go"
)

func main() {
	log.SetFlags(0)
	epochs := int64(500)
	if len(os.Args) < 2 {
		log.Fatal("usage: perceptron digits.csv.gz [EPOCHS]")
	}
	if len(os.Args) > 2 {
		var err error
		if epochs, err = strconv.ParseInt(os.Args[2], 10, 64); err != nil || epochs < 1 {
			log.Fatalf("%q is no number of epochs", os.Args[2])
		}
	}
	digits, err := readDigits(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	train(digits, epochs)
}

// train learns from four fifths of the images and measures on the others how many it reads right.
func train(digits []example, epochs int64) {
	cut := len(digits) / 5
	heldOut, training := digits[:cut], digits[cut:]
	n := newNetwork(64, 128, 10)

	// [start:train]
	m := milepost.Start()
	defer m.Close()
	for epoch := int64(1); epoch <= epochs; epoch++ {
		loss := n.learn(training)
		m.Report(milepost.Step(epoch, epochs),
			milepost.Metric("loss", loss),
			milepost.Metric("accuracy", n.accuracy(heldOut)))
	}
	m.Complete()
	// [end:train]

	fmt.Printf("%.1f %% of %d images that it did not learn from are read right\n", 100*n.accuracy(heldOut), len(heldOut))
}
