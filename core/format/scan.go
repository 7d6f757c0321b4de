package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// The functions below walk JSON that json.Valid has passed. They exist because encoding/json keeps
// the last of several members of one name, matches names in any case and takes null for a zero
// value, and because taking values apart without copies makes a record several times cheaper to
// read.

// maxJSONDepth bounds the nesting of a document, info objects included.
const maxJSONDepth = 64

// strictJSON checks what encoding/json lets pass: text that is not UTF-8, a member named twice and
// deep nesting.
func strictJSON(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("json is not UTF-8")
	}
	if !json.Valid(data) {
		return errors.New("json has a syntax error, or something behind its value")
	}
	return strictValue(bytes.TrimSpace(data), 0)
}

func strictValue(raw json.RawMessage, depth int) error {
	switch {
	case raw[0] != '{' && raw[0] != '[':
		return nil
	case depth >= maxJSONDepth:
		return fmt.Errorf("json is nested deeper than %d", maxJSONDepth)
	case raw[0] == '[':
		return eachElement(raw, func(value json.RawMessage) error { return strictValue(value, depth+1) })
	}
	var seen nameSet
	return eachMember(raw, func(name string, value json.RawMessage) error {
		if !seen.add(name) {
			return fmt.Errorf("json has the member %q twice", clip(name))
		}
		return strictValue(value, depth+1)
	})
}

// nameSet is a set of names that needs no map while it is small.
type nameSet struct {
	few  []string
	many map[string]struct{}
}

// add reports whether name is new.
func (s *nameSet) add(name string) bool {
	if s.many != nil {
		n := len(s.many)
		s.many[name] = struct{}{}
		return len(s.many) > n
	}
	for _, old := range s.few {
		if old == name {
			return false
		}
	}
	s.few = append(s.few, name)
	if len(s.few) > 24 {
		s.many = make(map[string]struct{}, 2*len(s.few))
		for _, old := range s.few {
			s.many[old] = struct{}{}
		}
	}
	return true
}

// eachMember calls f for the members of an object in their order. Values are parts of raw.
func eachMember(raw json.RawMessage, f func(name string, value json.RawMessage) error) error {
	for i := skipSpace(raw, 1); raw[i] != '}'; {
		end := skipValue(raw, i)
		name, err := text(raw[i:end])
		if err != nil {
			return err
		}
		i = skipSpace(raw, skipSpace(raw, end)+1) // behind the colon
		end = skipValue(raw, i)
		if err := f(name, raw[i:end:end]); err != nil {
			return err
		}
		if i = skipSpace(raw, end); raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
	return nil
}

// eachElement calls f for the elements of an array in their order. Values are parts of raw.
func eachElement(raw json.RawMessage, f func(value json.RawMessage) error) error {
	for i := skipSpace(raw, 1); raw[i] != ']'; {
		end := skipValue(raw, i)
		if err := f(raw[i:end:end]); err != nil {
			return err
		}
		if i = skipSpace(raw, end); raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
	return nil
}

func skipSpace(b []byte, i int) int {
	for b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r' {
		i++
	}
	return i
}

// skipValue is the end of the value that begins at b[i].
func skipValue(b []byte, i int) int {
	depth := 0
	for {
		switch b[i] {
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			i++
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		default:
			if depth > 0 {
				i++
				continue
			}
			for i < len(b) && bytes.IndexByte([]byte(",]} \t\r\n"), b[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
}

// text is the string that raw, a value of any sort, stands for.
func text(raw json.RawMessage) (string, error) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", errors.New("want a json string")
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), nil
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}
