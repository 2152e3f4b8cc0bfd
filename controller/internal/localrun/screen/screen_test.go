// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recorder is a terminal that only remembers what it was sent.
type recorder struct {
	strings.Builder
	rows, columns int
}

func (r *recorder) size() (int, int) { return r.rows, r.columns }

// sent returns what came since the last call, with ESC made visible.
func (r *recorder) sent() string {
	text := strings.ReplaceAll(r.String(), "\x1b", "␛")
	r.Reset()
	return text
}

func TestScreenKeepsTheLastRow(t *testing.T) {
	terminal := &recorder{rows: 24, columns: 80}
	s := New(terminal, terminal.size)
	s.CommandSize()
	steps := []struct {
		name string
		do   func()
		want string
	}{
		{
			name: "the first line makes room for itself and keeps the cursor",
			do:   func() { s.Show("45%") },
			want: "␛D␛[A␛7␛[1;23r␛8" + "␛7␛[24;1H␛[0m45%␛[K␛8",
		},
		{
			name: "output passes unchanged and the line stays",
			do:   func() { _, _ = s.Write([]byte("\r 10%|#\x1b[31m  |")) },
			want: "\r 10%|#␛[31m  |",
		},
		{
			name: "a new line takes the place of the old one",
			do:   func() { s.Show("46%") },
			want: "␛7␛[24;1H␛[0m46%␛[K␛8",
		},
		{
			name: "the line comes back when the command clears the screen",
			do:   func() { _, _ = s.Write([]byte("\x1b[H\x1b[2J")) },
			want: "␛[H␛[2J" + "␛7␛[24;1H␛[0m46%␛[K␛8",
		},
		{
			name: "the region comes back when the command resets the terminal",
			do:   func() { _, _ = s.Write([]byte("\x1bc")) },
			want: "␛c" + "␛D␛[A␛7␛[1;23r␛8" + "␛7␛[24;1H␛[0m46%␛[K␛8",
		},
		{
			name: "nothing is drawn in the middle of a sequence",
			do:   func() { _, _ = s.Write([]byte("\x1b[3")); s.Show("47%") },
			want: "␛[3",
		},
		{
			name: "nor in the middle of a character",
			do:   func() { _, _ = s.Write([]byte("1m\xe2\x94")); s.Show("48%") },
			want: "1m\xe2\x94",
		},
		{
			name: "but behind it",
			do:   func() { _, _ = s.Write([]byte("\x81")); s.Show("49%") },
			want: "\x81" + "␛7␛[24;1H␛[0m49%␛[K␛8",
		},
		{
			name: "a terminal of another size is given back and taken anew",
			do:   func() { terminal.rows = 30; s.Show("50%"); s.CommandSize() },
			want: "␛7␛[r␛8␛[J" + "␛D␛[A␛7␛[1;29r␛8" + "␛7␛[30;1H␛[0m50%␛[K␛8",
		},
		{
			name: "a terminal that is too small is left alone",
			do:   func() { terminal.rows = 2; s.Show("51%"); s.CommandSize() },
			want: "␛7␛[r␛8␛[J",
		},
		{
			name: "suspending an untouched terminal does nothing",
			do:   func() { s.Suspend(); terminal.rows = 24; s.Show("52%"); s.CommandSize() },
			want: "",
		},
		{
			name: "resuming draws the newest line",
			do:   func() { s.Resume() },
			want: "␛D␛[A␛7␛[1;23r␛8" + "␛7␛[24;1H␛[0m52%␛[K␛8",
		},
		{
			name: "a line of our own starts in the first column",
			do:   func() { _, _ = s.Write([]byte("half")); s.Say("note") },
			want: "half\r\nnote\r\n",
		},
		{
			name: "the end removes the line and starts a new row",
			do:   func() { _, _ = s.Write([]byte("half a row")); s.Close() },
			want: "half a row" + "␛7␛[r␛[24;1H␛[0m␛[K␛8\r\n",
		},
		{
			name: "after the end only output passes",
			do:   func() { s.Show("53%"); s.Close() },
			want: "",
		},
	}
	for _, step := range steps {
		step.do()
		if diff := cmp.Diff(step.want, terminal.sent()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

func TestScreenTellsOfANewSize(t *testing.T) {
	terminal := &recorder{rows: 24, columns: 80}
	s := New(terminal, terminal.size)
	if rows, columns := s.CommandSize(); rows != 23 || columns != 80 {
		t.Errorf("the command has %d rows and %d columns, want 23 and 80", rows, columns)
	}
	terminal.columns = 60 // even before there is a line
	for range 2 {
		if !s.Show("") {
			t.Error("fewer columns are no change, although the command does not know them")
		}
	}
	if rows, columns := s.CommandSize(); rows != 23 || columns != 60 {
		t.Errorf("the command has %d rows and %d columns, want 23 and 60", rows, columns)
	}
	if s.Show("") {
		t.Error("the size is a change although the command knows it")
	}
}

func TestScannerJudgesOutput(t *testing.T) {
	cases := map[string]struct {
		output        string
		want          effect
		wantLineStart bool
		wantOpen      bool
	}{
		"text":                                    {output: "abc"},
		"a whole line":                            {output: "abc\n", wantLineStart: true},
		"a progress bar that returns":             {output: "abc\r"},
		"colours behind a line":                   {output: "abc\n\x1b[0m", wantLineStart: true},
		"a title that ends with a bell":           {output: "\x1b]0;\x1b[2J\a", wantLineStart: true, want: effectNone},
		"a link that ends with a string mark":     {output: "\x1b]8;;x\x1b\\", wantLineStart: true},
		"a title that does not end":               {output: "\x1b]0;title", wantLineStart: true, wantOpen: true},
		"an unfinished sequence":                  {output: "x\x1b[1;3", wantOpen: true},
		"a choice of characters":                  {output: "\x1b(B", wantLineStart: true},
		"a wide character":                        {output: "損"},
		"a stray byte of a character":             {output: "\x9b"},
		"clearing the screen":                     {output: "\x1b[2J", want: effectWiped, wantLineStart: true},
		"the whole screen scrolls again":          {output: "\x1b[r", want: effectLost, wantLineStart: true},
		"a region within the rows of the command": {output: "\x1b[5;10r", wantLineStart: true},
		"restoring a private mode":                {output: "\x1b[?1r", wantLineStart: true},
		"a full reset":                            {output: "\x1bc", want: effectLost, wantLineStart: true},
		"a soft reset":                            {output: "\x1b[!p", want: effectLost, wantLineStart: true},
		"the other screen":                        {output: "\x1b[?1049h", want: effectLost, wantLineStart: true},
		"hiding the cursor":                       {output: "\x1b[?25l", wantLineStart: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := scanner{lineStart: true}
			var got effect
			for i := range len(tc.output) { // byte by byte: output comes in any pieces
				got = max(got, s.feed([]byte(tc.output[i:i+1])))
			}
			if got != tc.want || s.lineStart != tc.wantLineStart || s.ground() == tc.wantOpen {
				t.Errorf("effect %d, line start %v, open %v; want %d, %v, %v",
					got, s.lineStart, !s.ground(), tc.want, tc.wantLineStart, tc.wantOpen)
			}
		})
	}
}
