// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"fmt"
	"net/http"
	"strings"
)

const (
	headerWarning = "Warning"
	// maxWarnings bounds the number of headers, maxWarning the length of one:
	// both come from what a sender wrote, and clients limit their headers.
	maxWarnings = 10
	maxWarning  = 256
	// noteTrimmed is what the sender of a report is told that fits only in part.
	noteTrimmed = "trainerStatus.metrics: left out, because the TrainJob would be larger than the API server can store"
	// noteSuperseded is what the sender of an older report is told.
	noteSuperseded = "superseded: a newer report of this job is known, this one is not stored"
)

// setWarnings adds one header per note, in the form that the API server uses:
// code 299, no agent, text in quotes.
func setWarnings(header http.Header, notes []string) {
	if len(notes) == 0 {
		return
	}
	shown := min(len(notes), maxWarnings)
	values := make([]string, 0, shown+1)
	for _, note := range notes[:shown] {
		values = append(values, warning(note))
	}
	if left := len(notes) - shown; left > 0 {
		values = append(values, warning(fmt.Sprintf("and %d more", left)))
	}
	header[headerWarning] = values
}

// warning quotes a note. What is not plain ASCII is replaced, since it can come
// from the sender and end up in terminals.
func warning(note string) string {
	const prefix, suffix = `299 - "`, `"`
	var b strings.Builder
	b.Grow(len(prefix) + len(note) + len(suffix))
	b.WriteString(prefix)
	for _, r := range note {
		switch {
		case b.Len() >= len(prefix)+maxWarning:
			b.WriteString("...")
			b.WriteString(suffix)
			return b.String()
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r > '~':
			b.WriteByte('?')
		default:
			b.WriteRune(r)
		}
	}
	b.WriteString(suffix)
	return b.String()
}
