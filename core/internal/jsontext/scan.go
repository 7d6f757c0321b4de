package jsontext

import (
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"deeplake/core/errs"
)

// Kind is the type of a value.
type Kind uint8

// The kinds of values. Numbers without a point and an exponent are Int.
const (
	Null Kind = 1 << iota
	Bool
	Int
	Float
	Text
	Object
	List
)

// String names a Kind in messages.
func (k Kind) String() string {
	return map[Kind]string{Null: "null", Bool: "a bool", Int: "a number", Float: "a number", Text: "a text", Object: "an object", List: "a list"}[k]
}

// MaxNesting bounds values within values.
const MaxNesting = 256

// Scanner passes over JSON. The first fault ends it.
type Scanner struct {
	P  []byte
	At int // of the next byte
	// Lax takes NaN and Infinity for numbers, as writers in Python and JavaScript give them.
	Lax bool
}

// Space passes over white space.
func (s *Scanner) Space() {
	for s.At < len(s.P) && (s.P[s.At] == ' ' || s.P[s.At] == '\t' || s.P[s.At] == '\r' || s.P[s.At] == '\n') {
		s.At++
	}
}

// Wrong returns the error of the next byte.
func (s *Scanner) Wrong() error {
	if s.At >= len(s.P) {
		return errs.New(errs.Corrupt, "is no JSON: it is cut")
	}
	return errs.New(errs.Corrupt, "is no JSON: byte %d is %q", s.At, s.P[s.At])
}

// Value passes over a value and returns its Kind.
func (s *Scanner) Value(depth int) (Kind, error) {
	if depth > MaxNesting {
		return 0, errs.New(errs.Invalid, "has values more than %d deep", MaxNesting)
	}
	s.Space()
	if s.At >= len(s.P) {
		return 0, s.Wrong()
	}
	switch c := s.P[s.At]; {
	case s.Lax && (c == 'N' || c == 'I' || c == '-' && s.At+1 < len(s.P) && s.P[s.At+1] == 'I'):
		if c == '-' {
			s.At++
		}
		return Float, s.word(map[byte]string{'N': "NaN", 'I': "Infinity"}[s.P[s.At]])
	case c == '"':
		_, err := s.Text()
		return Text, err
	case c == '{':
		return Object, s.Members(depth, nil)
	case c == '[':
		return List, s.Items(depth, nil)
	case c == 't':
		return Bool, s.word("true")
	case c == 'f':
		return Bool, s.word("false")
	case c == 'n':
		return Null, s.word("null")
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	}
	return 0, s.Wrong()
}

func (s *Scanner) word(word string) error {
	for i := range len(word) {
		if s.At >= len(s.P) || s.P[s.At] != word[i] {
			return s.Wrong()
		}
		s.At++
	}
	return nil
}

func (s *Scanner) digits() error {
	from := s.At
	for s.At < len(s.P) && s.P[s.At] >= '0' && s.P[s.At] <= '9' {
		s.At++
	}
	if s.At == from {
		return s.Wrong()
	}
	return nil
}

// number passes over a number; one with a point or an exponent is a float.
func (s *Scanner) number() (Kind, error) {
	if s.P[s.At] == '-' {
		s.At++
	}
	isZero := s.At < len(s.P) && s.P[s.At] == '0'
	from := s.At
	if err := s.digits(); err != nil {
		return 0, err
	}
	if isZero && s.At > from+1 {
		s.At = from + 1
		return 0, s.Wrong()
	}
	k := Int
	if s.At < len(s.P) && s.P[s.At] == '.' {
		k = Float
		s.At++
		if err := s.digits(); err != nil {
			return 0, err
		}
	}
	if s.At < len(s.P) && (s.P[s.At] == 'e' || s.P[s.At] == 'E') {
		k = Float
		s.At++
		if s.At < len(s.P) && (s.P[s.At] == '+' || s.P[s.At] == '-') {
			s.At++
		}
		if err := s.digits(); err != nil {
			return 0, err
		}
	}
	return k, nil
}

// Text passes over a text and returns what lies between its quotes.
func (s *Scanner) Text() ([]byte, error) {
	s.At++
	from := s.At
	for s.At < len(s.P) {
		switch c := s.P[s.At]; {
		case c == '"':
			s.At++
			return s.P[from : s.At-1], nil
		case c < 0x20:
			return nil, s.Wrong()
		case c == '\\':
			if err := s.escape(); err != nil {
				return nil, err
			}
		default:
			s.At++
		}
	}
	return nil, s.Wrong()
}

func (s *Scanner) escape() error {
	s.At++
	if s.At >= len(s.P) {
		return s.Wrong()
	}
	switch s.P[s.At] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.At++
		return nil
	case 'u':
		s.At++
		for range 4 {
			if s.At >= len(s.P) || !isHex(s.P[s.At]) {
				return s.Wrong()
			}
			s.At++
		}
		return nil
	}
	return s.Wrong()
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// Members passes over an object and calls each for its members; nil: they are passed over too.
func (s *Scanner) Members(depth int, each func(key []byte) error) error {
	return s.list('}', func() error {
		if s.At >= len(s.P) || s.P[s.At] != '"' {
			return s.Wrong()
		}
		key, err := s.Text()
		if err != nil {
			return err
		}
		if s.Space(); s.At >= len(s.P) || s.P[s.At] != ':' {
			return s.Wrong()
		}
		s.At++
		if each != nil {
			return each(key)
		}
		_, err = s.Value(depth + 1)
		return err
	})
}

// Items passes over a list and calls each for its items; nil: they are passed over too.
func (s *Scanner) Items(depth int, each func() error) error {
	return s.list(']', func() error {
		if each != nil {
			return each()
		}
		_, err := s.Value(depth + 1)
		return err
	})
}

// list passes over what lies between brackets, separated by commas.
func (s *Scanner) list(end byte, one func() error) error {
	s.At++
	if s.Space(); s.At < len(s.P) && s.P[s.At] == end {
		s.At++
		return nil
	}
	for {
		s.Space()
		if err := one(); err != nil {
			return err
		}
		s.Space()
		switch {
		case s.At >= len(s.P):
			return s.Wrong()
		case s.P[s.At] == end:
			s.At++
			return nil
		case s.P[s.At] != ',':
			return s.Wrong()
		}
		s.At++
	}
}

// Plain returns the text that stands between quotes: in place, if it has no escapes.
func Plain(p []byte) ([]byte, error) {
	for _, c := range p {
		if c == '\\' {
			var text string
			if isHalf(p) {
				return nil, errs.New(errs.Corrupt, "has half a character in %.40q: \\ud800 to \\udfff come in pairs", p)
			}
			quoted := append(append([]byte{'"'}, p...), '"')
			if err := json.Unmarshal(quoted, &text); err != nil {
				return nil, errs.New(errs.Corrupt, "is no JSON: %w", err)
			}
			return []byte(text), nil
		}
	}
	return p, nil
}

// isHalf reports whether a text has an escaped half of a surrogate pair without the other half.
func isHalf(p []byte) bool {
	for at := 0; at < len(p); at++ {
		if p[at] != '\\' {
			continue
		}
		high := unit(p[at:])
		at++ // what follows is no escape of its own
		if !utf16.IsSurrogate(high) {
			continue
		}
		if at += 5; at >= len(p) || utf16.DecodeRune(high, unit(p[at:])) == utf8.RuneError {
			return true
		}
		at++
	}
	return false
}

// unit returns the number of the escape \uXXXX at the beginning of p; -1: there is none.
func unit(p []byte) rune {
	if len(p) < 6 || p[0] != '\\' || p[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(p[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}
