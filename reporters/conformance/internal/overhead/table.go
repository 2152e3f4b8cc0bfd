// SPDX-License-Identifier: Apache-2.0

package overhead

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Markdown writes the table: the median of the rounds, and how many times that of the same loop without a reporter.
func (r Run) Markdown(out io.Writer) error {
	var text strings.Builder
	c := r.Conditions
	fmt.Fprintf(&text, "%s, %d cores, load %s before it began. Python %s", c.CPU, c.Cores, c.Load, c.Python)
	for _, name := range sortedKeys(c.Versions) {
		fmt.Fprintf(&text, ", %s %s", name, c.Versions[name])
	}
	fmt.Fprintf(&text, ". %d rounds; each measurement trained for %g s, reported at every step, and had a process and a server of its own.\n\n", c.Rounds, c.Seconds)
	fmt.Fprint(&text, "Seconds per 1,000 steps, median of the rounds (least to most); × is the ratio to the same loop without a reporter.\n\n")
	fmt.Fprint(&text, "| |")
	for _, kind := range Endpoints {
		fmt.Fprintf(&text, " %s |", headings[kind])
	}
	fmt.Fprint(&text, "\n| --- |", strings.Repeat(" ---: |", len(Endpoints)), "\n")
	for _, way := range Ways {
		if len(r.of(way.Loop, way.Way, Endpoints[0])) == 0 {
			continue
		}
		fmt.Fprintf(&text, "| %s |", way.Text)
		for _, kind := range Endpoints {
			fmt.Fprintf(&text, " %s |", r.cell(way, kind))
		}
		fmt.Fprintln(&text)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

var headings = map[string]string{
	"live": "live endpoint",
	"slow": fmt.Sprintf("answers after %d s", slowness),
	"dead": "dead: takes no connection",
}

// of lists what was measured, sorted.
func (r Run) of(loop, way, kind string) (values []float64) {
	for _, s := range r.Samples {
		if s.Loop == loop && s.Way == way && s.Endpoint == kind {
			values = append(values, s.PerThousand())
		}
	}
	slices.Sort(values)
	return values
}

func (r Run) cell(way Way, kind string) string {
	values := r.of(way.Loop, way.Way, kind)
	if len(values) == 0 {
		return "–"
	}
	text := figures(median(values))
	if len(values) > 1 {
		text += fmt.Sprintf(" (%s to %s)", figures(values[0]), figures(values[len(values)-1]))
	}
	if base := r.of(way.Loop, None, kind); way.Way != None && len(base) > 0 {
		text += fmt.Sprintf(", × %s", ratio(median(values)/median(base)))
	}
	return text
}

func median(sorted []float64) float64 {
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// figures keeps three of them.
func figures(value float64) string {
	switch {
	case value >= 100:
		return strconv.FormatFloat(value, 'f', 0, 64)
	case value >= 10:
		return strconv.FormatFloat(value, 'f', 1, 64)
	}
	return strconv.FormatFloat(value, 'f', 2, 64)
}

// ratio keeps two decimals where they count.
func ratio(value float64) string {
	if value >= 10 {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return strconv.FormatFloat(value, 'f', 2, 64)
}

func sortedKeys(of map[string]string) []string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func conditions(o Options) Conditions {
	c := Conditions{Time: time.Now().UTC(), CPU: runtime.GOARCH, Cores: runtime.NumCPU(), Load: "unknown", Seconds: o.Seconds, Rounds: o.Rounds}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		c.Load, _, _ = strings.Cut(string(text), " ")
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
				c.CPU = strings.TrimSpace(value)
				break
			}
		}
	}
	if out, err := exec.Command(o.Python, "-c", "import platform; print(platform.python_version())").Output(); err == nil {
		c.Python = strings.TrimSpace(string(out))
	}
	return c
}
