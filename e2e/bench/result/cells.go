// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/milepost-dev/milepost/e2e/bench/load"
)

// cells are the figures of one group of clients, in the order of the table's head.
func (m *Measure) cells(g load.GroupOutcome) []string {
	cells := append([]string{Count(float64(g.Due)), Percent(g.Share()), Count(g.Rate())}, latencyCells(g)...)
	return append(cells,
		m.ageCell(), m.finalCell(), m.writesCell(), m.coresCell(), Mebibytes(m.Cost.Resident), otherAnswers(g))
}

// latencyCells are empty where nothing was accepted: there is no latency then, not one of zero.
func latencyCells(g load.GroupOutcome) []string {
	if g.Accepted == 0 {
		return []string{"–", "–", "–", "–", "–"}
	}
	l := g.Latency
	return []string{Millis(l.P50), Millis(l.P90), Millis(l.P99), Millis(l.P999), Millis(l.Max)}
}

func (m *Measure) ageCell() string {
	if m.Staleness == nil {
		return "–"
	}
	a := m.Staleness.All
	return fmt.Sprintf("%.2f / %.2f s%s", a.P99, a.Max, never(a.Never))
}

func (m *Measure) finalCell() string {
	if m.Staleness == nil || m.Staleness.Finals.Reports == 0 {
		return "–"
	}
	f := m.Staleness.Finals
	return fmt.Sprintf("%.2f s of %d%s", f.Max, f.Reports, never(f.Never))
}

func never(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d never", n)
}

func (m *Measure) writesCell() string {
	if m.Server == Echo {
		return "–"
	}
	return fmt.Sprintf("%.1f", m.Writes.StatusRate())
}

func (m *Measure) coresCell() string {
	c := m.Cost
	return fmt.Sprintf("%.2f, %.2f, %.2f, %.2f, %.2f", c.Server, c.Generator, c.APIServer, c.Etcd, c.Others)
}

// otherAnswers lists what was not a 200: status codes first, then failures by kind.
func otherAnswers(g load.GroupOutcome) string {
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(g.Codes)) {
		if code != "200" {
			parts = append(parts, code+": "+Count(float64(g.Codes[code])))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(g.Errors)) {
		parts = append(parts, kind+": "+Count(float64(g.Errors[kind])))
	}
	if g.Retried > 0 {
		parts = append(parts, "sent again: "+Count(float64(g.Retried)))
	}
	if len(parts) == 0 {
		return "–"
	}
	return strings.Join(parts, ", ")
}

// Count prints a number for people: whole when it is large, with a separator for thousands.
func Count(n float64) string {
	if n > 0 && n < 10 && n != float64(int64(n)) {
		return strconv.FormatFloat(n, 'f', 1, 64)
	}
	digits := strconv.FormatFloat(n, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Percent prints a share. It never rounds up to 100 %.
func Percent(share float64) string {
	switch {
	case share == 1:
		return "100 %"
	case share > 0.9999:
		return "> 99.99 %"
	case share > 0.995:
		return strconv.FormatFloat(share*100, 'f', 2, 64) + " %"
	}
	return strconv.FormatFloat(share*100, 'f', 1, 64) + " %"
}

// Millis prints a time in milliseconds with about three digits.
func Millis(ms float64) string {
	switch {
	case ms >= 100:
		return strconv.FormatFloat(ms, 'f', 0, 64)
	case ms >= 10:
		return strconv.FormatFloat(ms, 'f', 1, 64)
	}
	return strconv.FormatFloat(ms, 'f', 2, 64)
}

// Mebibytes prints an amount of memory.
func Mebibytes(bytes int64) string {
	return strconv.FormatInt((bytes+1<<19)>>20, 10) + " MiB"
}
