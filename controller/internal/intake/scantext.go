// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"unicode/utf16"
	"unicode/utf8"
)

// str takes a string and returns its meaning.
func (s *scanner) str() string {
	start := s.pos + 1
	for i := start; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			s.pos = i + 1
			return s.text[start:i]
		case c == '\\' || c >= utf8.RuneSelf:
			return s.strSlow(start, i)
		case c < ' ':
			s.fail(i, "a control character stands in a string")
			return ""
		}
	}
	s.fail(start-1, "the string does not end")
	return ""
}

// strSlow goes on where the simple case ends: at an escape or beyond ASCII.
// Bytes that are no UTF-8 become U+FFFD, as the API server reads them.
func (s *scanner) strSlow(start, i int) string {
	buf := append(make([]byte, 0, i-start+16), s.text[start:i]...)
	for i < len(s.text) {
		switch c := s.text[i]; {
		case c == '"':
			s.pos = i + 1
			return string(buf)
		case c == '\\':
			var size int
			if buf, size = s.escape(buf, i); size == 0 {
				s.fail(i, "the string has a wrong escape")
				return ""
			}
			i += size
		case c < ' ':
			s.fail(i, "a control character stands in a string")
			return ""
		case c < utf8.RuneSelf:
			buf = append(buf, c)
			i++
		default:
			r, size := utf8.DecodeRuneInString(s.text[i:])
			buf = utf8.AppendRune(buf, r)
			i += size
		}
	}
	s.fail(start-1, "the string does not end")
	return ""
}

// escape appends the meaning of the escape at i and returns its size in the
// text, or 0 when it is none.
func (s *scanner) escape(buf []byte, i int) ([]byte, int) {
	if i+1 >= len(s.text) {
		return buf, 0
	}
	switch c := s.text[i+1]; c {
	case '"', '\\', '/':
		return append(buf, c), 2
	case 'b':
		return append(buf, '\b'), 2
	case 'f':
		return append(buf, '\f'), 2
	case 'n':
		return append(buf, '\n'), 2
	case 'r':
		return append(buf, '\r'), 2
	case 't':
		return append(buf, '\t'), 2
	case 'u':
		return s.unicode(buf, i)
	}
	return buf, 0
}

// unicode reads \uXXXX, and a surrogate pair as one character.
func (s *scanner) unicode(buf []byte, i int) ([]byte, int) {
	r, ok := s.hex4(i + 2)
	if !ok {
		return buf, 0
	}
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(buf, r), 6
	}
	if i+7 < len(s.text) && s.text[i+6] == '\\' && s.text[i+7] == 'u' {
		if low, ok := s.hex4(i + 8); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return utf8.AppendRune(buf, pair), 12
			}
		}
	}
	return utf8.AppendRune(buf, utf8.RuneError), 6
}

func (s *scanner) hex4(i int) (rune, bool) {
	if i+4 > len(s.text) {
		return 0, false
	}
	var r rune
	for _, c := range []byte(s.text[i : i+4]) {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// number takes a number and returns it as written.
func (s *scanner) number() string {
	start := s.pos
	if s.at() == '-' {
		s.pos++
	}
	switch c := s.at(); {
	case c == '0':
		s.pos++
	case c >= '1' && c <= '9':
		s.digits()
	default:
		s.fail(s.pos, s.unexpected("a digit is missing"))
		return ""
	}
	if s.at() == '.' {
		s.pos++
		if !s.digits() {
			return ""
		}
	}
	if c := s.at(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.at(); c == '+' || c == '-' {
			s.pos++
		}
		if !s.digits() {
			return ""
		}
	}
	return s.text[start:s.pos]
}

// at returns the byte at the present position, or 0 at the end.
func (s *scanner) at() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

func (s *scanner) digits() bool {
	start := s.pos
	for c := s.at(); c >= '0' && c <= '9'; c = s.at() {
		s.pos++
	}
	if s.pos == start {
		s.fail(s.pos, s.unexpected("a digit is missing"))
		return false
	}
	return true
}

// literal takes null, true or false.
func (s *scanner) literal() {
	for _, word := range [...]string{"null", "true", "false"} {
		if len(s.text)-s.pos >= len(word) && s.text[s.pos:s.pos+len(word)] == word {
			s.pos += len(word)
			return
		}
	}
	s.fail(s.pos, "this is no JSON value")
}
