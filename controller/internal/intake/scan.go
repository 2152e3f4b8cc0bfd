// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"fmt"
)

// maxDepth is how deep an unknown value may nest. It is the depth that
// encoding/json allows, so that nothing is refused which was accepted before.
const maxDepth = 10000

// syntaxError is broken JSON at a byte offset counted from 0.
type syntaxError struct {
	offset int
	what   string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.offset, e.what) }

// scanner walks once over a JSON text. It works on a string so that what it
// returns shares the text's memory. The first error ends the walk: it is kept
// in err, and every later call returns at once.
type scanner struct {
	text string
	pos  int
	err  error
	// stack holds the brackets that are open while a value is skipped.
	stack []byte
}

func (s *scanner) fail(offset int, what string) {
	if s.err == nil {
		s.err = &syntaxError{offset: offset, what: what}
	}
	// Nothing behind the fault is looked at, which also ends every loop.
	s.pos = len(s.text)
}

// peek skips white space and returns the next byte, or 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// end fails unless only white space is left.
func (s *scanner) end() {
	if s.err == nil && (s.peek() != 0 || s.pos < len(s.text)) {
		s.fail(s.pos, "there is something behind the JSON value")
	}
}

// expect takes one structural byte.
func (s *scanner) expect(want byte) bool {
	if s.peek() != want || s.pos >= len(s.text) {
		s.fail(s.pos, s.unexpected(fmt.Sprintf("%q is missing", want)))
		return false
	}
	s.pos++
	return true
}

// unexpected words a fault at the present position.
func (s *scanner) unexpected(what string) string {
	if s.pos >= len(s.text) {
		return "the text ends too early"
	}
	return what
}

// fields walks over an object and calls visit with each key, standing at its
// value. visit must consume the value.
func (s *scanner) fields(visit func(key string)) {
	if !s.expect('{') {
		return
	}
	if s.peek() == '}' {
		s.pos++
		return
	}
	for s.err == nil {
		if s.peek() != '"' {
			s.fail(s.pos, s.unexpected("a key must be a string"))
			return
		}
		key := s.str()
		if !s.expect(':') {
			return
		}
		visit(key)
		if s.more('}') {
			return
		}
	}
}

// elements walks over an array and calls visit at each element. visit must
// consume the element.
func (s *scanner) elements(visit func()) {
	if !s.expect('[') {
		return
	}
	if s.peek() == ']' {
		s.pos++
		return
	}
	for s.err == nil {
		visit()
		if s.more(']') {
			return
		}
	}
}

// more takes a comma, or the closing bracket and returns true.
func (s *scanner) more(closing byte) (done bool) {
	if s.err != nil {
		return true
	}
	switch s.peek() {
	case ',':
		s.pos++
		return false
	case closing:
		s.pos++
		return true
	}
	s.fail(s.pos, s.unexpected(fmt.Sprintf("a comma or %q is missing", closing)))
	return true
}
