// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// hostileTexts are names and values that a training program may pass on.
var hostileTexts = []string{
	"\x1b[2J\x1b[31m", "\x1b]0;title\a", "\x1b]8;;https://invalid\x1b\\", "a\r\nNAME  STATE", "\u009b31m", "\u202eevil", "a\u200bb", "\x7f\x00", "\u2028",
	"<script>alert(1)</script>", "<b>&amp;", "[red]", "{{.}}", "---\nkind: Secret", "'\"`$(id)", "# x", "a: b", "*anchor", "!!binary x",
}

func TestNoOutputOfGetActsOnATerminal(t *testing.T) {
	status := &trainer.TrainerStatus{ProgressPercentage: new(int32(45))}
	for _, text := range hostileTexts {
		status.Metrics = append(status.Metrics, trainer.Metric{Name: text, Value: text})
	}
	job := makeJob("digits", trainer.TrainJobStateRunning, time.Second, status)
	for _, watch := range []bool{false, true} {
		for _, form := range []string{"", "wide", "yaml", "json", "name"} {
			t.Run("output "+form, func(t *testing.T) {
				printer, err := (&getOptions{output: form, watch: watch, allNamespaces: true}).printer()
				if err != nil {
					t.Fatal(err)
				}
				var out bytes.Buffer
				if err := printer.print(&out, []*trainer.TrainJob{job}, now); err != nil {
					t.Fatal(err)
				}
				text := out.String()
				if bad := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); bad >= 0 {
					t.Errorf("at %d the output has %q", bad, text[bad:min(len(text), bad+20)])
				}
				if shows := form != "" && form != "name"; shows != strings.Contains(text, "script") {
					t.Errorf("void: the output shows metrics: %v, want %v", !shows, shows)
				}
				if form == "wide" && strings.Count(text, "\n") != 2 {
					t.Errorf("the table has %d lines, want a heading and a row:\n%s", strings.Count(text, "\n"), text)
				}
			})
		}
	}
}
