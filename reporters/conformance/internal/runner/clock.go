// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"time"
)

// clock stretches every time of a case: pauses, delays of the server, bounds, and through the scales of the protocol the
// times and limits of the reporter. On a machine that has much else to do whatever takes a moment takes longer; with all
// clocks slowed down alike a case still asks the same.
type clock float64

const (
	// share is how many programs that want to run a core can take before cases notice. The runner alone makes about one.
	share = 3
	// slowest keeps a run from taking forever.
	slowest = 4
)

// clockFor is the clock for a machine on which so many programs want to run.
func clockFor(wanting float64, cores int) clock {
	return clock(math.Ceil(min(slowest, max(1, wanting/float64(cores)/share))))
}

// clockNow looks at this machine; where it cannot, times are as they are written.
func clockNow() clock {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 1
	}
	return clockFor(wanting(string(text)), runtime.NumCPU())
}

// wanting is the larger of the mean of the last minute and the number now, as in "3.50 2.10 1.00 7/321 4711".
func wanting(loadavg string) float64 {
	var mean, five, fifteen, now float64
	if _, err := fmt.Sscanf(strings.Replace(loadavg, "/", " ", 1), "%g %g %g %g", &mean, &five, &fifteen, &now); err != nil {
		return 0
	}
	return max(mean, now)
}

func (c clock) seconds(s float64) time.Duration { return seconds(s * float64(c)) }

func (c clock) duration(d time.Duration) time.Duration { return time.Duration(float64(d) * float64(c)) }

func (c clock) bounds(b bounds) bounds {
	return bounds{AtLeast: b.AtLeast * float64(c), AtMost: b.AtMost * float64(c)}
}

// wanted stretches the times of a request that has to come.
func (c clock) wanted(w wanted) wanted {
	w.Within *= float64(c)
	w.Soon *= float64(c)
	if w.Gap != nil {
		w.Gap = &gap{bounds: c.bounds(w.Gap.bounds), From: w.Gap.From}
	}
	return w
}

// arguments stretches what a request to the executor says of times.
func (c clock) arguments(op string, fields map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	if c == 1 {
		return fields, nil
	}
	switch op {
	case "create", "scope":
		options := map[string]json.RawMessage{}
		if fields["options"] != nil {
			if err := json.Unmarshal(fields["options"], &options); err != nil {
				return nil, err
			}
		}
		if err := c.multiply(options, 1, "timeScale", "limitScale"); err != nil {
			return nil, err
		}
		text, err := json.Marshal(options)
		fields["options"] = text
		return fields, err
	case "track":
		return fields, c.multiply(fields, 0, "pause")
	}
	return fields, nil
}

// multiply stretches numbers; those that are missing count as otherwise.
func (c clock) multiply(numbers map[string]json.RawMessage, otherwise float64, names ...string) error {
	for _, name := range names {
		number := otherwise
		if numbers[name] != nil {
			if err := json.Unmarshal(numbers[name], &number); err != nil {
				return err
			}
		}
		numbers[name] = fmt.Appendf(nil, "%g", number*float64(c))
	}
	return nil
}
