// SPDX-License-Identifier: Apache-2.0

package intake

// skip takes one value of any type without looking at it further than its
// syntax. It does not recurse, so that depth costs no stack.
func (s *scanner) skip() {
	s.stack = s.stack[:0]
	for s.err == nil {
		if s.skipOne() {
			continue
		}
		if s.closeAll() {
			return
		}
	}
}

// skipOne takes a scalar, or opens a bracket and returns true when a value must
// follow at once.
func (s *scanner) skipOne() (opened bool) {
	switch c := s.peek(); {
	case c == '{' || c == '[':
		return s.open(c)
	case c == '"':
		s.str()
	case c == '-' || c >= '0' && c <= '9':
		s.number()
	case s.pos >= len(s.text):
		s.fail(s.pos, "the text ends too early")
	default:
		s.literal()
	}
	return false
}

func (s *scanner) open(bracket byte) (opened bool) {
	if len(s.stack) >= maxDepth {
		s.fail(s.pos, "the value nests too deep")
		return false
	}
	closing := byte('}')
	if bracket == '[' {
		closing = ']'
	}
	s.pos++
	if s.peek() == closing {
		s.pos++
		return false
	}
	s.stack = append(s.stack, closing)
	return closing == ']' || s.key()
}

// key takes `"name":` in an object that is skipped.
func (s *scanner) key() bool {
	if s.peek() != '"' {
		s.fail(s.pos, s.unexpected("a key must be a string"))
		return false
	}
	s.str()
	return s.expect(':')
}

// closeAll takes commas and closing brackets behind a value. It returns true
// when the outermost value is complete.
func (s *scanner) closeAll() bool {
	for s.err == nil && len(s.stack) > 0 {
		closing := s.stack[len(s.stack)-1]
		if !s.more(closing) {
			if closing == '}' {
				s.key()
			}
			return false
		}
		s.stack = s.stack[:len(s.stack)-1]
	}
	return true
}
