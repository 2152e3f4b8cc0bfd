// SPDX-License-Identifier: Apache-2.0

package main

import (
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"os"
	"strconv"
)

// example is an image of 8×8 pixels from 0 (white) to 1 (black), and the digit that it shows.
type example struct {
	image []float64
	digit int
}

// readDigits reads the file docs/examples/go/digits/data/digits.csv.gz.
func readDigits(path string) ([]example, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	rows, err := csv.NewReader(unzipped).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	examples := make([]example, len(rows))
	for i, row := range rows {
		image := make([]float64, len(row))
		for column, text := range row {
			if image[column], err = strconv.ParseFloat(text, 64); err != nil {
				return nil, fmt.Errorf("reading line %d of %s: %w", i+1, path, err)
			}
			image[column] /= 16
		}
		last := len(row) - 1
		examples[i] = example{image: image[:last], digit: int(16 * image[last])}
	}
	return examples, nil
}
