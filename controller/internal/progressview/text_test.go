// SPDX-License-Identifier: Apache-2.0

package progressview

import (
	"testing"
	"time"
)

func TestTextNeutralisesWhatActsOnATerminal(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"plain text":               {in: "val/loss 0.25", want: "val/loss 0.25"},
		"letters of any script":    {in: "perte é 損失 😀", want: "perte é 損失 😀"},
		"markup is only text":      {in: "<b>&amp;[red]", want: "<b>&amp;[red]"},
		"an escape sequence":       {in: "\x1b[31mred", want: "^[[31mred"},
		"line breaks and tabs":     {in: "a\r\n\tb", want: "a^M^J^Ib"},
		"delete and null":          {in: "\x7f\x00", want: "^?^@"},
		"a control of the C1 set":  {in: "\u009b31m", want: `\u009b31m`},
		"text that runs backwards": {in: "\u202eevil", want: `\u202eevil`},
		"characters without width": {in: "a\u200bb\u2060", want: `a\u200bb\u2060`},
		"tags beyond 16 bits":      {in: "\U000e0041", want: `\U000e0041`},
		"a line separator":         {in: "a\u2028b", want: `a\u2028b`},
		"bytes that are no UTF-8":  {in: "a\xff\x9bb", want: "a\ufffd\ufffdb"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Text(tc.in); got != tc.want {
				t.Errorf("Text(%q) = %q, want %q", tc.in, got, tc.want)
			}
		})
	}
}

func TestCutCountsColumns(t *testing.T) {
	cases := map[string]struct {
		in    string
		limit int
		want  string
	}{
		"a short text stays":            {in: "loss", limit: 4, want: "loss"},
		"a long text ends in the mark":  {in: "accuracy", limit: 5, want: "accu…"},
		"wide letters take two columns": {in: "損失関数", limit: 6, want: "損失…"},
		"accents take none":             {in: "e\u0301e\u0301", limit: 2, want: "e\u0301e\u0301"},
		"no room at all":                {in: "loss", limit: 0, want: ""},
		"room for nothing but the mark": {in: "loss", limit: 1, want: "…"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Cut(tc.in, tc.limit, "…"); got != tc.want {
				t.Errorf("Cut(%q, %d) = %q, want %q", tc.in, tc.limit, got, tc.want)
			}
		})
	}
}

func TestDuration(t *testing.T) {
	cases := map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 999 * time.Millisecond: "0s", 59 * time.Second: "59s",
		time.Minute: "1m00s", 245 * time.Second: "4m05s", time.Hour: "1h00m",
		2*time.Hour + 7*time.Minute + 59*time.Second: "2h07m", 24 * time.Hour: "1d00h", 76 * time.Hour: "3d04h",
		10000 * time.Hour: "416d16h",
	}
	for in, want := range cases {
		if got := Duration(in); got != want {
			t.Errorf("Duration(%v) = %q, want %q", in, got, want)
		}
	}
}
