// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// printTable shows for each duty and language how many cases passed of those that concern it.
func printTable(out io.Writer, languages []*Language, results []result) {
	if len(languages) == 0 {
		return
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	defer func() { _ = table.Flush() }()
	names := []string{"\nduty"}
	for _, l := range languages {
		names = append(names, l.Name)
	}
	fmt.Fprintln(table, strings.Join(names, "\t"))
	for _, duty := range duties(results) {
		row := []string{duty}
		for _, l := range languages {
			row = append(row, cell(l, duty, results))
		}
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
}

// duties lists the duties of the cases in the order of their numbers.
func duties(results []result) (list []string) {
	for _, r := range results {
		for _, duty := range r.test.Duties {
			if !slices.Contains(list, duty) {
				list = append(list, duty)
			}
		}
	}
	number := func(duty string) int {
		n, _ := strconv.Atoi(strings.TrimPrefix(duty, "D"))
		return n
	}
	slices.SortFunc(list, func(a, b string) int { return number(a) - number(b) })
	return list
}

// cell is "12 ok", "3 of 12 FAILED", or n/a when no case concerns the language.
func cell(l *Language, duty string, results []result) string {
	all, bad, known := 0, 0, 0
	for _, r := range results {
		if r.language != l || r.verdict == absent || !slices.Contains(r.test.Duties, duty) {
			continue
		}
		all++
		if r.bad() {
			bad++
		}
		if r.verdict == expected {
			known++
		}
	}
	switch {
	case all == 0:
		return "n/a"
	case bad > 0:
		return fmt.Sprintf("%d of %d FAILED", bad, all)
	case known > 0:
		return fmt.Sprintf("%d ok, %d known", all-known, known)
	}
	return fmt.Sprintf("%d ok", all)
}

// printClocks says when cases did not run at the times that are written in them.
func printClocks(out io.Writer, results []result) {
	slow, most := 0, clock(1)
	for _, r := range results {
		if r.clock > 1 {
			slow++
			most = max(most, r.clock)
		}
	}
	if slow > 0 {
		fmt.Fprintf(out, "\nthe machine was busy: %d of %d cases ran with all times up to %g times as long\n", slow, len(results), most)
	}
}
