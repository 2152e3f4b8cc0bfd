// SPDX-License-Identifier: Apache-2.0

package reportrules

import (
	"strings"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

// Layouts of a time: with and without zone. Go reads a fraction of any length
// whether or not the layout has one.
var (
	zonedLayouts = [...]string{time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07"}
	localLayout  = "2006-01-02T15:04:05"
)

// timeReadable takes the time of the sender over.
func timeReadable(d *report.Draft, now time.Time, rep *report.Report) (string, string, bool) {
	if !d.LastUpdatedTime.Set {
		setTime(rep, now)
		return reasonMended, "is missing; the server's time was taken", false
	}
	sent, zoned, ok := parseTime(d.LastUpdatedTime.Value)
	if !ok {
		return reasonInvalid, "is not a time; want a form like 2026-06-12T03:00:00Z", true
	}
	setTime(rep, sent)
	if !zoned {
		return reasonMended, "has no zone; UTC was taken", false
	}
	return "", "", false
}

// timeNotAhead replaces a time that is too far ahead.
func timeNotAhead(_ *report.Draft, now time.Time, rep *report.Report) (string, string, bool) {
	if !rep.SentTime.After(now.Add(MaxAhead)) {
		return "", "", false
	}
	setTime(rep, now)
	return reasonMended, "is more than five minutes ahead; the server's time was taken", false
}

func setTime(rep *report.Report, t time.Time) {
	rep.SentTime = t.UTC()
	rep.LastUpdatedTime = rep.SentTime.Truncate(time.Second)
}

// parseTime reads a time in any of the forms that programs commonly write.
func parseTime(text string) (t time.Time, zoned, ok bool) {
	text = canonical(text)
	for _, layout := range zonedLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true, storable(t)
		}
	}
	t, err := time.Parse(localLayout, text)
	return t, false, err == nil && storable(t)
}

// canonical undoes the freedoms that RFC 3339 gives and Go's parser refuses: a
// space or a small t between date and time, and a small z.
func canonical(text string) string {
	const separator = len("2006-01-02")
	if len(text) <= separator {
		return text
	}
	if c := text[separator]; c == ' ' || c == 't' {
		text = text[:separator] + "T" + text[separator+1:]
	}
	if strings.HasSuffix(text, "z") {
		text = text[:len(text)-1] + "Z"
	}
	return text
}

// storable leaves out the first year and what is before it: the Kubernetes API
// reads its first second as no time at all.
func storable(t time.Time) bool {
	return t.UTC().Year() > 1
}
