// SPDX-License-Identifier: Apache-2.0

package reportrules

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

// maxQuoted bounds what is quoted of the sender's number in a message.
const maxQuoted = 32

func progressInRange(d *report.Draft, _ time.Time, rep *report.Report) (string, string, bool) {
	if d.Progress.Literal == "" {
		return "", "", false
	}
	whole, mended := wholeNumber(d.Progress.Literal)
	if whole < 0 || whole > report.FinalPercentage {
		return reasonInvalid, quoted(d.Progress.Literal) + " is outside 0 to 100", true
	}
	rep.ProgressPercentage = new(int32(whole))
	return reasonMended, mendedNote(d.Progress.Literal, whole, mended), false
}

func remainingInRange(d *report.Draft, _ time.Time, rep *report.Report) (string, string, bool) {
	if d.Remaining.Literal == "" {
		return "", "", false
	}
	whole, mended := wholeNumber(d.Remaining.Literal)
	if whole < 0 {
		return reasonInvalid, quoted(d.Remaining.Literal) + " is below 0", true
	}
	if whole > math.MaxInt32 {
		whole, mended = math.MaxInt32, true
	}
	rep.EstimatedRemainingSeconds = new(int32(whole))
	return reasonMended, mendedNote(d.Remaining.Literal, whole, mended), false
}

func mendedNote(literal string, whole int64, mended bool) string {
	if !mended {
		return ""
	}
	return fmt.Sprintf("%s was taken as %d", quoted(literal), whole)
}

func quoted(literal string) string {
	if len(literal) > maxQuoted {
		return literal[:maxQuoted] + "..."
	}
	return literal
}

// wholeNumber drops the fraction of a JSON number. It tells whether the number
// was written as anything but a plain whole number. Numbers beyond int64 come
// back as its ends.
func wholeNumber(literal string) (whole int64, mended bool) {
	if strings.ContainsAny(literal, "eE") {
		// Exponents are rare. ParseFloat returns an infinity for what is out of
		// its range, which is as good as any number out of ours.
		value, _ := strconv.ParseFloat(literal, 64)
		return saturated(value), true
	}
	digits, _, mended := strings.Cut(literal, ".")
	// The literal is a JSON number, so only its range can be at fault, and then
	// ParseInt returns the nearer end of the range.
	whole, _ = strconv.ParseInt(digits, 10, 64)
	return whole, mended
}

func saturated(value float64) int64 {
	switch {
	case value >= math.MaxInt64:
		return math.MaxInt64
	case value <= math.MinInt64:
		return math.MinInt64
	}
	return int64(value)
}
