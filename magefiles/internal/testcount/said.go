// SPDX-License-Identifier: Apache-2.0

package testcount

import (
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// formats are the ways in which the test runners of languages report. A run that ended badly before
// it came to its tests has no numbers at all; who ran it knows that it failed.
var formats = map[string]func(said string) Result{
	"cargo":    cargo,
	"go":       goEvents,
	"node":     node,
	"pytest":   pytest,
	"surefire": surefire,
	"unittest": func(said string) Result { return Unittest(said, true) },
}

// Formats lists what Said can count.
func Formats() []string {
	names := make([]string, 0, len(formats))
	for name := range formats {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Said counts what a test runner printed, in one of the formats.
func Said(format, said string) Result { return formats[format](said) }

func goEvents(said string) Result {
	result, err := Read(strings.NewReader(said), Options{Out: io.Discard})
	if err != nil {
		result.Failed++
	}
	return result
}

var cargoLine = regexp.MustCompile(`(?m)^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored`)

// cargo adds up the result of every test binary.
func cargo(said string) (total Result) {
	for _, found := range cargoLine.FindAllStringSubmatch(said, -1) {
		total = total.Plus(Result{Passed: number(found[1]), Failed: number(found[2]), Skipped: number(found[3])})
	}
	return total
}

var nodeLine = regexp.MustCompile(`(?m)^(?:#|ℹ) (pass|fail|cancelled|skipped|todo) (\d+)`)

// node adds up the closing lines of node --test.
func node(said string) (total Result) {
	for _, found := range nodeLine.FindAllStringSubmatch(said, -1) {
		switch count := number(found[2]); found[1] {
		case "pass":
			total.Passed += count
		case "fail", "cancelled":
			total.Failed += count
		default:
			total.Skipped += count
		}
	}
	return total
}

var surefireLine = regexp.MustCompile(`(?m)Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)\s*$`)

// surefire reads the closing line; those of single classes end with a time.
func surefire(said string) (total Result) {
	for _, found := range surefireLine.FindAllStringSubmatch(said, -1) {
		failed, skipped := number(found[2])+number(found[3]), number(found[4])
		total = total.Plus(Result{Passed: number(found[1]) - failed - skipped, Failed: failed, Skipped: skipped})
	}
	return total
}

var (
	pytestLine  = regexp.MustCompile(`(?m)^=* ?((?:\d+ \w+,? ?)+) in [\d.]+s.*$`)
	pytestCount = regexp.MustCompile(`(\d+) (passed|failed|errors?|skipped|xfailed|xpassed)`)
)

// pytest reads the closing line.
func pytest(said string) (total Result) {
	for _, line := range pytestLine.FindAllStringSubmatch(said, -1) {
		for _, found := range pytestCount.FindAllStringSubmatch(line[1], -1) {
			switch count := number(found[1]); found[2] {
			case "passed":
				total.Passed += count
			case "skipped", "xfailed":
				total.Skipped += count
			default:
				total.Failed += count
			}
		}
	}
	return total
}

func number(digits string) int {
	n, _ := strconv.Atoi(digits) // the expressions allow digits alone
	return n
}
