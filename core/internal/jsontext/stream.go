package jsontext

import (
	"io"

	"deeplake/core/errs"
)

// Stream reads a document from its beginning. It holds one value at a time. The first fault ends
// it.
type Stream struct {
	from   io.Reader
	most   int // bytes of a value
	buf    []byte
	at     int   // of the next byte in buf
	offset int64 // of buf in the document
	depth  int
	err    error // of from; io.EOF behind the last byte
	Lax    bool  // Scanner.Lax
}

// streamStep is the least number of bytes that a Stream asks for.
const streamStep = 256 << 10

// NewStream reads a document whose single values have at most most bytes.
func NewStream(from io.Reader, most int) *Stream { return &Stream{from: from, most: most} }

// fill reads more bytes behind those from s.at on. It returns false at the end.
func (s *Stream) fill() bool {
	if s.err != nil {
		return false
	}
	if s.at > 0 {
		s.offset += int64(s.at)
		s.buf = s.buf[:copy(s.buf, s.buf[s.at:])]
		s.at = 0
	}
	if cap(s.buf)-len(s.buf) < streamStep {
		s.buf = append(make([]byte, 0, 2*len(s.buf)+streamStep), s.buf...)
	}
	n := 0
	for n == 0 && s.err == nil {
		n, s.err = s.from.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
	}
	return n > 0
}

// wrong returns the error of the byte at s.at.
func (s *Stream) wrong() error {
	if s.err != nil && s.err != io.EOF {
		return s.err
	}
	if s.at >= len(s.buf) {
		return errs.New(errs.Corrupt, "is no JSON: it is cut")
	}
	return errs.New(errs.Corrupt, "is no JSON: byte %d is %q", s.offset+int64(s.at), s.buf[s.at])
}

// next passes over white space and returns the next byte, which stays there.
func (s *Stream) next() (byte, error) {
	for {
		for s.at < len(s.buf) {
			switch c := s.buf[s.at]; c {
			case ' ', '\t', '\r', '\n':
				s.at++
			default:
				return c, nil
			}
		}
		if !s.fill() {
			return 0, s.wrong()
		}
	}
}

// Kind returns the kind of the next value, and leaves it there. A number is Float.
func (s *Stream) Kind() (Kind, error) {
	if s.offset == 0 && s.at == 0 { // a byte order mark is none of the document
		for len(s.buf) < 3 && s.fill() {
		}
		if len(s.buf) >= 3 && string(s.buf[:3]) == "\xef\xbb\xbf" {
			s.at = 3
		}
	}
	c, err := s.next()
	if err != nil {
		return 0, err
	}
	switch {
	case c == '{':
		return Object, nil
	case c == '[':
		return List, nil
	case c == '"':
		return Text, nil
	case c == 't' || c == 'f':
		return Bool, nil
	case c == 'n':
		return Null, nil
	case c == '-' || c >= '0' && c <= '9' || s.Lax && (c == 'N' || c == 'I'):
		return Float, nil
	}
	return 0, s.wrong()
}

// Object calls each at the value of every member of an object. each reads the value.
func (s *Stream) Object(each func(key string) error) error {
	return s.open(Object, '}', func() error {
		if c, err := s.next(); err != nil || c != '"' {
			return s.wrong()
		}
		quoted, err := s.Value()
		if err != nil {
			return err
		}
		key, err := Plain(quoted[1 : len(quoted)-1])
		if err != nil {
			return err
		}
		name := string(key)
		if c, err := s.next(); err != nil || c != ':' {
			return s.wrong()
		}
		s.at++
		return each(name)
	})
}

// List calls each at every item of a list. each reads the item.
func (s *Stream) List(each func() error) error { return s.open(List, ']', each) }

func (s *Stream) open(want Kind, end byte, each func() error) error {
	kind, err := s.Kind()
	if err != nil {
		return err
	}
	if kind != want {
		return errs.New(errs.Invalid, "byte %d begins %s, want %s", s.offset+int64(s.at), kind, want)
	}
	if s.depth++; s.depth > MaxNesting {
		return errs.New(errs.Invalid, "has values more than %d deep", MaxNesting)
	}
	defer func() { s.depth-- }()
	s.at++
	if c, err := s.next(); err != nil || c == end {
		s.at++
		return err
	}
	for {
		if err := each(); err != nil {
			return err
		}
		c, err := s.next()
		switch {
		case err != nil:
			return err
		case c == end:
			s.at++
			return nil
		case c != ',':
			return s.wrong()
		}
		s.at++
	}
}

// Skip passes over the next value, of any size.
func (s *Stream) Skip() error {
	switch kind, err := s.Kind(); {
	case err != nil:
		return err
	case kind == Object:
		return s.Object(func(string) error { return s.Skip() })
	case kind == List:
		return s.List(s.Skip)
	}
	_, err := s.Value()
	return err
}

// Value returns the JSON of the next value, which is valid until the next call.
func (s *Stream) Value() ([]byte, error) {
	if _, err := s.Kind(); err != nil {
		return nil, err
	}
	n, err := s.length()
	if err != nil {
		return nil, err
	}
	p := s.buf[s.at : s.at+n : s.at+n]
	scan := Scanner{P: p, Lax: s.Lax}
	if _, err := scan.Value(s.depth); err != nil || scan.At < n {
		s.at += scan.At
		if err != nil && scan.At >= n || errs.Is(err, errs.Invalid) {
			return nil, err
		}
		return nil, s.wrong()
	}
	s.at += n
	return p, nil
}

// length returns the bytes of the value at s.at, with all of them in buf. The value may still be
// no JSON.
func (s *Stream) length() (n int, err error) {
	depth, quoted := 0, false
	for {
		for ; s.at+n < len(s.buf); n++ {
			switch c := s.buf[s.at+n]; {
			case quoted && c == '\\':
				n++
			case c == '"':
				if quoted = !quoted; !quoted && depth == 0 {
					return n + 1, nil
				}
			case quoted:
			case c == '{' || c == '[':
				depth++
			case depth == 0 && n > 0 && (c <= ' ' || c == ',' || c == ':' || c == '}' || c == ']'):
				return n, nil
			case c == '}' || c == ']':
				if depth--; depth <= 0 {
					return n + 1, nil
				}
			}
		}
		if n > s.most {
			return 0, errs.New(errs.Invalid, "byte %d begins a value of more than %d bytes", s.offset+int64(s.at), s.most)
		}
		if !s.fill() {
			if s.err == io.EOF && depth == 0 && !quoted && s.at < len(s.buf) && s.at+n == len(s.buf) {
				return n, nil
			}
			s.at = len(s.buf)
			return 0, s.wrong()
		}
	}
}

// End returns an error if more than white space follows.
func (s *Stream) End() error {
	if _, err := s.next(); err == nil || s.err != io.EOF {
		return s.wrong()
	}
	return nil
}
