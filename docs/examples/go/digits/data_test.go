// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

func TestLoadDigitsReadsTheWholeSet(t *testing.T) {
	examples, err := loadDigits()
	if err != nil {
		t.Fatal(err)
	}
	if len(examples) != 1797 {
		t.Fatalf("read %d images, want 1797", len(examples))
	}
	var perDigit [classes]int
	for _, e := range examples {
		perDigit[e.digit]++
	}
	if want := [classes]int{178, 182, 177, 183, 181, 182, 181, 179, 174, 180}; perDigit != want {
		t.Errorf("images of each digit = %v, want %v", perDigit, want)
	}
	if got, want := examples[0].image[2], 5.0/maxShade; got != want {
		t.Errorf("third pixel of the first image = %v, want %v", got, want)
	}
}

func TestDataIsTheFileThatTheReadmeNames(t *testing.T) {
	readme, err := os.ReadFile("data/README.md")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(digitsCSV)
	if !strings.Contains(string(readme), hex.EncodeToString(sum[:])) {
		t.Errorf("data/README.md does not name the checksum %x of the file", sum)
	}
}

func TestSplitKeepsEveryImageOnOneSide(t *testing.T) {
	examples := make([]example, 100)
	for i := range examples {
		examples[i].digit = i
	}
	train, test := split(examples, rand.New(rand.NewPCG(1, 0)))
	if len(train) != 80 || len(test) != 20 {
		t.Fatalf("split into %d and %d, want 80 and 20", len(train), len(test))
	}
	seen := map[int]bool{}
	for _, e := range append(append([]example{}, train...), test...) {
		seen[e.digit] = true
	}
	if len(seen) != len(examples) {
		t.Errorf("%d different images after the split, want %d", len(seen), len(examples))
	}
}

func TestShiftMovesAndFillsWithWhite(t *testing.T) {
	var image [pixels]float64
	image[0] = 1        // top left
	image[pixels-1] = 1 // bottom right
	moved := shift(&image, 1, 0)
	var want [pixels]float64
	want[1] = 1
	if moved != want {
		t.Errorf("shifted right by one: %v", moved)
	}
}

func TestParseExampleRefusesWhatIsNoDigit(t *testing.T) {
	good := strings.Split(strings.Repeat("0,", pixels)+"3", ",")
	cases := map[string]struct {
		place int
		value string
	}{
		"a shade above the darkest": {place: 5, value: "17"},
		"a shade that is no number": {place: 5, value: "x"},
		"a digit of two places":     {place: pixels, value: "10"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			row := append([]string{}, good...)
			row[tc.place] = tc.value
			if _, err := parseExample(row); err == nil {
				t.Errorf("accepted %q in place %d", tc.value, tc.place)
			}
		})
	}
}
