// SPDX-License-Identifier: Apache-2.0

package milepost

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/milepost-dev/milepost/reporters/go/internal/wire"
)

const (
	complete = wire.TrainerStatusProgressPercentageMaximum
	// mostComputed is as far as steps lead: only the program knows that it is complete. D4.
	mostComputed = complete - 1
)

// computedProgress is the progress that steps show. D4.
func computedProgress(step, total int64) int32 {
	switch {
	case step <= 0:
		return 0
	case step >= total:
		return mostComputed
	}
	high, low := bits.Mul64(uint64(step), 100)
	percent, _ := bits.Div64(high, low, uint64(total)) // step < total, so the quotient is below 100
	return int32(percent)
}

// explicitProgress is the progress that the caller states, nil when it is no number. D4.
func explicitProgress(percent float64) *int32 {
	if math.IsNaN(percent) {
		return nil
	}
	p := int32(min(max(percent, 0), complete))
	return &p
}

// seconds cuts a number of seconds to what the wire can hold.
func seconds(s float64) *int32 {
	cut := int32(min(max(s, 0), math.MaxInt32))
	return &cut
}

// formatFloat writes a number as Number::toString of ECMAScript does. D7.
func formatFloat(f float64, bitSize int) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case f == 0:
		return "0"
	case f < 0:
		return "-" + formatFloat(-f, bitSize)
	}
	// d.ddde±dd holds the shortest digits and the place of the point.
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, bitSize), "e")
	tens, _ := strconv.Atoi(exponent)
	return layOut(strings.Replace(mantissa, ".", "", 1), tens)
}

// layOut writes digits of which the first stands for a power of ten.
func layOut(digits string, tens int) string {
	point := tens + 1 // how many digits stand before the point
	switch {
	case len(digits) <= point && point <= 21:
		return digits + strings.Repeat("0", point-len(digits))
	case 0 < point && point <= 21:
		return digits[:point] + "." + digits[point:]
	case -6 < point && point <= 0:
		return "0." + strings.Repeat("0", -point) + digits
	}
	if len(digits) > 1 {
		digits = digits[:1] + "." + digits[1:]
	}
	sign := "e"
	if tens > 0 {
		sign = "e+"
	}
	return digits + sign + strconv.Itoa(tens)
}
