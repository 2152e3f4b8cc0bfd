// SPDX-License-Identifier: Apache-2.0

package progressview

import (
	"strconv"
	"strings"
	"time"
)

// Style is what the terminal can show.
type Style struct {
	// Width is the number of columns.
	Width int
	// Colour allows escape sequences for colour and weight.
	Colour bool
	// Unicode allows characters beyond ASCII.
	Unicode bool
}

const (
	gap       = "  "
	nameLimit = 24 // columns
)

// paint is how a part of the bar looks.
type paint string

const (
	paintNone  paint = ""
	paintBold  paint = "1"
	paintFaint paint = "2"
	paintWarn  paint = "33"
	paintBar   paint = "36"
	paintDone  paint = "32"
)

func (s Style) paint(p paint, text string) string {
	if !s.Colour || p == paintNone || text == "" {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[0m"
}

// part is a piece of the line with its width, which colours do not change.
type part struct {
	text    string
	columns int
}

func (s Style) part(p paint, text string) part {
	return part{text: s.paint(p, text), columns: Columns(text)}
}

// line collects parts as long as they fit.
type line struct {
	room  int
	parts []part
}

// add takes the part if it fits and says whether it did.
func (l *line) add(p part) bool {
	need := p.columns
	if len(l.parts) > 0 {
		need += len(gap)
	}
	if p.columns == 0 || need > l.room {
		return false
	}
	l.room -= need
	l.parts = append(l.parts, p)
	return true
}

// Bar returns the state as one line without a line break. It is never wider
// than Style.Width-1, because a character in the last column makes some
// terminals scroll. What matters less gives way in a narrow terminal: first the
// metrics from the last one on, then the time since the start, the name, the
// bar, the time left.
func Bar(v View, s Style) string {
	room := max(s.Width-1, 0)
	if v.Report == nil {
		return s.waiting(v, room)
	}
	// Parts are chosen by importance and shown in another order.
	var chosen line
	chosen.room = room
	pick := func(p part) part {
		if chosen.add(p) {
			return p
		}
		return part{}
	}
	percent := pick(s.part(paintBold, rightAlign(Percent(v.Report.ProgressPercentage), min(room, len("100%")))))
	if percent.columns == 0 {
		return ""
	}
	left := pick(s.timeLeft(v))
	bar := pick(s.bar(v))
	name := pick(s.name(v.Name))
	stale := pick(s.stale(v))
	elapsed := pick(s.part(paintFaint, Duration(v.Elapsed)))

	shown := []part{name, bar, percent, left, stale}
	shown = append(shown, s.metrics(v, &chosen)...)
	return join(append(shown, elapsed))
}

func (s Style) waiting(v View, room int) string {
	all := line{room: room}
	all.add(s.part(paintNone, "waiting for the first report"))
	all.add(s.name(v.Name))
	all.add(s.part(paintFaint, Duration(v.Elapsed)))
	if len(all.parts) > 1 {
		all.parts[0], all.parts[1] = all.parts[1], all.parts[0]
	}
	return join(all.parts)
}

func (s Style) name(name string) part {
	return s.part(paintNone, Cut(Text(name), nameLimit, s.cutMark()))
}

func (s Style) cutMark() string {
	if s.Unicode {
		return "…"
	}
	return "~"
}

func (s Style) timeLeft(v View) part {
	left := v.secondsLeft()
	if left < 0 || v.done() {
		return part{}
	}
	return s.part(paintNone, Duration(time.Duration(left)*time.Second)+" left")
}

func (s Style) stale(v View) part {
	if v.done() || v.ReportAge < staleAfter {
		return part{}
	}
	return s.part(paintWarn, "no report for "+Duration(v.ReportAge))
}

// cells is the length of the bar. It depends on the width of the terminal alone,
// so that the bar stands still while the text around it changes.
func (s Style) cells() int {
	switch {
	case s.Width < 60:
		return 10
	case s.Width < 100:
		return 20
	}
	return 30
}

func (s Style) bar(v View) part {
	cells := s.cells()
	progress := 0
	if v.Report.ProgressPercentage != nil {
		progress = int(min(max(*v.Report.ProgressPercentage, 0), 100))
	}
	full := progress * cells / 100
	p := paintBar
	if v.done() {
		p = paintDone
	}
	if !s.Unicode {
		inner := strings.Repeat("#", full) + strings.Repeat(".", cells-full)
		return part{text: "[" + s.paint(p, inner) + "]", columns: cells + 2}
	}
	done := strings.Repeat("━", full)
	if half := progress*cells*2/100%2 == 1; half {
		done += "╸"
		full++
	}
	return part{text: s.paint(p, done) + s.paint(paintFaint, strings.Repeat("─", cells-full)), columns: cells}
}

// metrics returns as many metrics as fit, and how many were left out.
func (s Style) metrics(v View, room *line) []part {
	var shown []part
	all := v.Report.Metrics
	for i, m := range all {
		name, value := Text(m.Name), Text(m.Value)
		p := part{text: s.paint(paintFaint, name) + " " + value, columns: Columns(name) + 1 + Columns(value)}
		more := s.part(paintFaint, "+"+strconv.Itoa(len(all)-i))
		last := i == len(all)-1
		if keep := *room; !keep.add(p) || !last && keep.room < len(gap)+more.columns {
			if room.add(more) {
				shown = append(shown, more)
			}
			return shown
		}
		room.add(p)
		shown = append(shown, p)
	}
	return shown
}

func rightAlign(text string, columns int) string {
	return strings.Repeat(" ", max(columns-len(text), 0)) + text
}

func join(parts []part) string {
	var out strings.Builder
	for _, p := range parts {
		if p.columns == 0 {
			continue
		}
		if out.Len() > 0 {
			out.WriteString(gap)
		}
		out.WriteString(p.text)
	}
	return out.String()
}
