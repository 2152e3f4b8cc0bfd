// SPDX-License-Identifier: Apache-2.0

package milepost

import "strings"

// warningTexts reads Warning headers of the form 299 - "text", several to a header. D20.
func warningTexts(headers []string) (texts []string) {
	for _, rest := range headers {
		for rest != "" {
			var text string
			var ok bool
			if text, rest, ok = nextWarning(rest); ok && text != "" {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// nextWarning takes one warning off the front of a header.
func nextWarning(header string) (text, rest string, ok bool) {
	code, rest, _ := strings.Cut(strings.TrimLeft(header, " ,"), " ")
	_, rest, agent := strings.Cut(rest, " ")
	text, rest, quoted := quotedText(rest)
	if !agent || !quoted {
		return "", "", false // the rest makes no sense without knowing where this one ends
	}
	if _, behind, dated := quotedText(strings.TrimLeft(rest, " ")); dated {
		rest = behind
	}
	return text, strings.TrimLeft(rest, " ,"), code == "299"
}

// quotedText reads a quoted string at the front; a backslash makes the next sign plain.
func quotedText(from string) (text, rest string, ok bool) {
	if !strings.HasPrefix(from, `"`) {
		return "", from, false
	}
	var out strings.Builder
	for i := 1; i < len(from); i++ {
		switch {
		case from[i] == '"':
			return out.String(), from[i+1:], true
		case from[i] == '\\' && i+1 < len(from):
			i++
		}
		out.WriteByte(from[i])
	}
	return "", from, false
}
