// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
)

// The images are part of the binary: the program needs no network, no file and no package besides Go's own.
//
//go:embed data/digits.csv.gz
var digitsCSV []byte

const (
	side     = 8           // pixels along each edge of an image
	pixels   = side * side // inputs of the network
	classes  = 10          // the digits 0 to 9
	maxShade = 16          // the darkest pixel in the file
)

// example is one image with the digit it shows.
type example struct {
	image [pixels]float64 // 0 (white) to 1 (black)
	digit int
}

// loadDigits reads every image of the embedded file.
func loadDigits() ([]example, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(digitsCSV))
	if err != nil {
		return nil, fmt.Errorf("opening the digits: %w", err)
	}
	rows := csv.NewReader(unzipped)
	rows.FieldsPerRecord = pixels + 1
	rows.ReuseRecord = true

	var examples []example
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return examples, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the digits: %w", err)
		}
		one, err := parseExample(row)
		if err != nil {
			return nil, fmt.Errorf("reading image %d: %w", len(examples)+1, err)
		}
		examples = append(examples, one)
	}
}

func parseExample(row []string) (example, error) {
	var one example
	for i := range pixels {
		shade, err := strconv.ParseFloat(row[i], 64)
		if err != nil || shade < 0 || shade > maxShade {
			return one, fmt.Errorf("pixel %d is %q, want 0 to %d", i, row[i], maxShade)
		}
		one.image[i] = shade / maxShade
	}
	digit, err := strconv.Atoi(row[pixels])
	if err != nil || digit < 0 || digit >= classes {
		return one, fmt.Errorf("digit is %q, want 0 to %d", row[pixels], classes-1)
	}
	one.digit = digit
	return one, nil
}

// split shuffles the examples and sets a fifth of them aside. The network never learns from those.
func split(examples []example, rng *rand.Rand) (train, test []example) {
	shuffled := make([]example, len(examples))
	for to, from := range rng.Perm(len(examples)) {
		shuffled[to] = examples[from]
	}
	cut := len(shuffled) - len(shuffled)/5
	return shuffled[:cut], shuffled[cut:]
}

// shift moves an image by dx and dy pixels and fills the gap with white. Training on images that were moved a little
// teaches the network the shape of a digit rather than its place.
func shift(image *[pixels]float64, dx, dy int) [pixels]float64 {
	var moved [pixels]float64
	for y := range side {
		for x := range side {
			fromX, fromY := x-dx, y-dy
			if fromX < 0 || fromX >= side || fromY < 0 || fromY >= side {
				continue
			}
			moved[y*side+x] = image[fromY*side+fromX]
		}
	}
	return moved
}
