package jsonl

import (
	"encoding/json"

	"deeplake/core/errs"
)

// kind is the type of a value.
type kind uint8

const (
	isNull kind = 1 << iota
	isBool
	isInt
	isFloat
	isString
	isObject
	isArray
)

// String names a kind in messages.
func (k kind) String() string {
	return map[kind]string{isNull: "null", isBool: "a bool", isInt: "a number", isFloat: "a number", isString: "a text", isObject: "an object", isArray: "a list"}[k]
}

// maxNesting bounds values within values.
const maxNesting = 256

// scanner passes over JSON. The first fault ends it.
type scanner struct {
	p  []byte
	at int
}

func (s *scanner) space() {
	for s.at < len(s.p) && (s.p[s.at] == ' ' || s.p[s.at] == '\t' || s.p[s.at] == '\r' || s.p[s.at] == '\n') {
		s.at++
	}
}

func (s *scanner) wrong() error {
	if s.at >= len(s.p) {
		return errs.New(errs.Corrupt, "is no JSON: it is cut")
	}
	return errs.New(errs.Corrupt, "is no JSON: byte %d is %q", s.at, s.p[s.at])
}

// value passes over a value and returns its kind.
func (s *scanner) value(depth int) (kind, error) {
	if depth > maxNesting {
		return 0, errs.New(errs.Invalid, "has values more than %d deep", maxNesting)
	}
	s.space()
	if s.at >= len(s.p) {
		return 0, s.wrong()
	}
	switch c := s.p[s.at]; {
	case c == '"':
		_, err := s.text()
		return isString, err
	case c == '{':
		return isObject, s.members(depth, nil)
	case c == '[':
		return isArray, s.items(depth, nil)
	case c == 't':
		return isBool, s.word("true")
	case c == 'f':
		return isBool, s.word("false")
	case c == 'n':
		return isNull, s.word("null")
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	}
	return 0, s.wrong()
}

func (s *scanner) word(word string) error {
	for i := range len(word) {
		if s.at >= len(s.p) || s.p[s.at] != word[i] {
			return s.wrong()
		}
		s.at++
	}
	return nil
}

func (s *scanner) digits() error {
	from := s.at
	for s.at < len(s.p) && s.p[s.at] >= '0' && s.p[s.at] <= '9' {
		s.at++
	}
	if s.at == from {
		return s.wrong()
	}
	return nil
}

// number passes over a number; one with a point or an exponent is a float.
func (s *scanner) number() (kind, error) {
	if s.p[s.at] == '-' {
		s.at++
	}
	isZero := s.at < len(s.p) && s.p[s.at] == '0'
	from := s.at
	if err := s.digits(); err != nil {
		return 0, err
	}
	if isZero && s.at > from+1 {
		s.at = from + 1
		return 0, s.wrong()
	}
	k := isInt
	if s.at < len(s.p) && s.p[s.at] == '.' {
		k = isFloat
		s.at++
		if err := s.digits(); err != nil {
			return 0, err
		}
	}
	if s.at < len(s.p) && (s.p[s.at] == 'e' || s.p[s.at] == 'E') {
		k = isFloat
		s.at++
		if s.at < len(s.p) && (s.p[s.at] == '+' || s.p[s.at] == '-') {
			s.at++
		}
		if err := s.digits(); err != nil {
			return 0, err
		}
	}
	return k, nil
}

// text passes over a text and returns what lies between its quotes.
func (s *scanner) text() ([]byte, error) {
	s.at++
	from := s.at
	for s.at < len(s.p) {
		switch c := s.p[s.at]; {
		case c == '"':
			s.at++
			return s.p[from : s.at-1], nil
		case c < 0x20:
			return nil, s.wrong()
		case c == '\\':
			if err := s.escape(); err != nil {
				return nil, err
			}
		default:
			s.at++
		}
	}
	return nil, s.wrong()
}

func (s *scanner) escape() error {
	s.at++
	if s.at >= len(s.p) {
		return s.wrong()
	}
	switch s.p[s.at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.at++
		return nil
	case 'u':
		s.at++
		for range 4 {
			if s.at >= len(s.p) || !isHex(s.p[s.at]) {
				return s.wrong()
			}
			s.at++
		}
		return nil
	}
	return s.wrong()
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// members passes over an object and calls each for its members; nil: they are passed over too.
func (s *scanner) members(depth int, each func(key []byte) error) error {
	return s.list('}', func() error {
		if s.at >= len(s.p) || s.p[s.at] != '"' {
			return s.wrong()
		}
		key, err := s.text()
		if err != nil {
			return err
		}
		if s.space(); s.at >= len(s.p) || s.p[s.at] != ':' {
			return s.wrong()
		}
		s.at++
		if each != nil {
			return each(key)
		}
		_, err = s.value(depth + 1)
		return err
	})
}

// items passes over a list and calls each for its items; nil: they are passed over too.
func (s *scanner) items(depth int, each func() error) error {
	return s.list(']', func() error {
		if each != nil {
			return each()
		}
		_, err := s.value(depth + 1)
		return err
	})
}

// list passes over what lies between brackets, separated by commas.
func (s *scanner) list(end byte, one func() error) error {
	s.at++
	if s.space(); s.at < len(s.p) && s.p[s.at] == end {
		s.at++
		return nil
	}
	for {
		s.space()
		if err := one(); err != nil {
			return err
		}
		s.space()
		switch {
		case s.at >= len(s.p):
			return s.wrong()
		case s.p[s.at] == end:
			s.at++
			return nil
		case s.p[s.at] != ',':
			return s.wrong()
		}
		s.at++
	}
}

// plain returns the text that stands between quotes: in place, if it has no escapes.
func plain(p []byte) ([]byte, error) {
	for _, c := range p {
		if c == '\\' {
			var text string
			quoted := append(append([]byte{'"'}, p...), '"')
			if err := json.Unmarshal(quoted, &text); err != nil {
				return nil, errs.New(errs.Corrupt, "is no JSON: %w", err)
			}
			return []byte(text), nil
		}
	}
	return p, nil
}
