// SPDX-License-Identifier: Apache-2.0

package progressview

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Text returns s with every character that could act on a terminal, or hide or
// reorder its neighbours, written out instead: ESC becomes ^[, a right-to-left
// override \u202e. Names and values of metrics come from the training program,
// which may pass on what a stranger chose.
func Text(s string) string {
	if isHarmless(s) {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		switch {
		case r < 0x20 || r == 0x7f:
			out.WriteByte('^')
			out.WriteRune(r ^ 0x40)
		case !unicode.IsPrint(r):
			out.WriteString(escaped(r))
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

func escaped(r rune) string {
	if r > 0xffff {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

func isHarmless(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// Columns returns how many columns of a terminal s takes.
func Columns(s string) int {
	total := 0
	for _, r := range s {
		total += columns(r)
	}
	return total
}

func columns(r rune) int {
	if r < utf8.RuneSelf {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Cut shortens s to the given number of columns; a cut text ends in mark.
func Cut(s string, limit int, mark string) string {
	if Columns(s) <= limit {
		return s
	}
	limit -= Columns(mark)
	if limit < 0 {
		return ""
	}
	used := 0
	for i, r := range s {
		if used += columns(r); used > limit {
			return s[:i] + mark
		}
	}
	return s
}
