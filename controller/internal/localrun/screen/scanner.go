// SPDX-License-Identifier: Apache-2.0

package screen

import "unicode/utf8"

// scanner follows the command's output just closely enough to know three things:
// whether it is in the middle of a character or an escape sequence, whether the
// cursor is at the start of a row, and whether a sequence took the scrolling
// region away.
type scanner struct {
	state     state
	lineStart bool

	left     int  // bytes that are missing of a UTF-8 character
	private  byte // the character that marks a private control sequence, such as ?
	between  byte // the last intermediate byte of a control sequence
	number   int  // the last number in a control sequence
	numbered bool // whether there was any
}

// effect is what output did to the last row.
type effect int

const (
	effectNone  effect = iota
	effectWiped        // the row may be empty now
	effectLost         // the row may scroll now
)

type state int

const (
	stateText         state = iota
	stateEscape             // behind ESC
	stateCSI                // behind ESC [
	stateString             // in a title, a hyperlink or another text for the terminal
	stateStringEscape       // behind ESC in such a text
	stateCharacter          // in a UTF-8 character
)

const (
	escape = 0x1b
	bell   = 0x07
)

// ground tells whether something may be written in between.
func (s *scanner) ground() bool { return s.state == stateText }

// feed reads output and reports the worst that it did to the last row.
func (s *scanner) feed(p []byte) (worst effect) {
	for _, b := range p {
		switch s.state {
		case stateText:
			s.text(b)
		case stateCharacter:
			if s.left--; s.left == 0 {
				s.state = stateText
			}
		case stateEscape:
			worst = max(worst, s.escape(b))
		case stateCSI:
			worst = max(worst, s.csi(b))
		case stateString:
			switch b {
			case bell:
				s.state = stateText
			case escape:
				s.state = stateStringEscape
			}
		case stateStringEscape:
			s.state = stateString
			if b == '\\' {
				s.state = stateText
			}
		}
	}
	return worst
}

func (s *scanner) text(b byte) {
	switch {
	case b == '\n':
		s.lineStart = true
	case b == escape:
		s.state = stateEscape
	case b < ' ':
		// A carriage return leaves what is written in the row: that is no empty row.
	case b < utf8.RuneSelf:
		s.lineStart = false
	default:
		s.lineStart = false
		switch {
		case b >= 0xf0:
			s.left = 3
		case b >= 0xe0:
			s.left = 2
		case b >= 0xc0:
			s.left = 1
		default:
			return // a stray byte
		}
		s.state = stateCharacter
	}
}

// escape handles the byte behind ESC.
func (s *scanner) escape(b byte) effect {
	switch b {
	case '[':
		s.state = stateCSI
		s.private, s.between, s.number, s.numbered = 0, 0, 0, false
		return effectNone
	case ']', 'P', 'X', '^', '_':
		s.state = stateString
		return effectNone
	case escape:
		return effectNone
	}
	if b >= ' ' && b < '0' {
		return effectNone // an intermediate byte, as in ESC ( B: the final one follows
	}
	s.state = stateText
	if b == 'c' { // a full reset
		return effectLost
	}
	return effectNone
}

// csi handles a byte of a control sequence.
func (s *scanner) csi(b byte) effect {
	switch {
	case b == escape:
		s.state = stateEscape
	case b >= '0' && b <= '9':
		s.number, s.numbered = min(s.number*10+int(b-'0'), 1<<16), true
	case b == ';' || b == ':':
		s.number = 0
	case b >= '<' && b <= '?':
		s.private = b
	case b >= ' ' && b <= '/':
		s.between = b
	case b >= '@' && b <= '~':
		s.state = stateText
		return s.final(b)
	}
	return effectNone
}

// control is a complete control sequence but for its numbers.
type control struct {
	private, between, final byte
}

// wipers and resetters are the control sequences that matter to the last row.
var (
	wipers    = map[control]bool{{final: 'J'}: true}               // clears the screen
	resetters = map[control]bool{{between: '!', final: 'p'}: true} // soft reset
	switches  = map[control]bool{{private: '?', final: 'h'}: true, {private: '?', final: 'l'}: true}
	// otherScreen are the private modes that change to the other screen and back.
	otherScreen = map[int]bool{47: true, 1047: true, 1049: true}
)

// final judges a complete control sequence. A command that sets a region of its
// own keeps it: it does so within the rows that it knows of.
func (s *scanner) final(b byte) effect {
	c := control{private: s.private, between: s.between, final: b}
	switch {
	case resetters[c], switches[c] && otherScreen[s.number]:
		return effectLost
	case c == control{final: 'r'} && !s.numbered: // the region is the whole screen
		return effectLost
	case wipers[c]:
		return effectWiped
	}
	return effectNone
}
