package annotations

import (
	"bufio"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"deeplake/core/errs"
)

// xmlStream reads an XML document from its beginning. One tag or text of it is in memory.
type xmlStream struct {
	d     *xml.Decoder
	from  *tokenReader
	depth int
}

const (
	// maxNesting bounds elements within elements.
	maxNesting = 64
	// maxText bounds the text of an element.
	maxText = 1 << 20
)

// tokenReader bounds the bytes of one tag or text.
type tokenReader struct {
	from *bufio.Reader
	left int
}

// ReadByte returns the next byte.
func (t *tokenReader) ReadByte() (byte, error) {
	if t.left--; t.left < 0 {
		return 0, errs.New(errs.Invalid, "has a tag or a text of more than %d bytes", maxElement)
	}
	return t.from.ReadByte()
}

// Read reads bytes. encoding/xml asks for single ones.
func (t *tokenReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c, err := t.ReadByte()
	if err != nil {
		return 0, err
	}
	p[0] = c
	return 1, nil
}

// newXMLStream reads a document. encoding/xml expands no entities but the five of XML itself.
func newXMLStream(from io.Reader) *xmlStream {
	t := &tokenReader{from: bufio.NewReaderSize(from, 64<<10)}
	d := xml.NewDecoder(t)
	d.CharsetReader = func(charset string, _ io.Reader) (io.Reader, error) {
		return nil, errs.New(errs.Invalid, "is in %q, want UTF-8", charset)
	}
	return &xmlStream{d: d, from: t}
}

// next returns the next tag or text; io.EOF: the document has ended.
func (s *xmlStream) next() (xml.Token, error) {
	s.from.left = maxElement
	token, err := s.d.Token()
	if err != nil {
		var syntax *xml.SyntaxError
		if errors.As(err, &syntax) || errs.KindOf(err) == errs.Internal && strings.HasPrefix(err.Error(), "xml: ") {
			return nil, errs.New(errs.Corrupt, "is no XML: %w", err)
		}
		return nil, err
	}
	switch token.(type) {
	case xml.Directive:
		return nil, errs.New(errs.Invalid, "declares a document type or entities; remove them")
	case xml.StartElement:
		if s.depth++; s.depth > maxNesting {
			return nil, errs.New(errs.Invalid, "has elements more than %d deep", maxNesting)
		}
	case xml.EndElement:
		s.depth--
	}
	return token, nil
}

// root returns the first element.
func (s *xmlStream) root() (*xml.StartElement, error) {
	for {
		token, err := s.next()
		if err == io.EOF {
			return nil, errs.New(errs.Corrupt, "is no XML: it has no element")
		}
		if err != nil {
			return nil, err
		}
		if e, ok := token.(xml.StartElement); ok {
			return &e, nil
		}
	}
}

// children calls each for the elements within the one that has begun. each reads its element to the
// end.
func (s *xmlStream) children(each func(e *xml.StartElement) error) error {
	for {
		token, err := s.next()
		if err != nil {
			return err
		}
		switch e := token.(type) {
		case xml.StartElement:
			if err := each(&e); err != nil {
				return err
			}
		case xml.EndElement:
			return nil
		}
	}
}

// skip passes over the rest of the element that has begun.
func (s *xmlStream) skip() error {
	return s.children(func(*xml.StartElement) error { return s.skip() })
}

// text returns the text of the element that has begun, without that of elements within.
func (s *xmlStream) text() (string, error) {
	var text []byte
	for {
		token, err := s.next()
		if err != nil {
			return "", err
		}
		switch e := token.(type) {
		case xml.StartElement:
			if err := s.skip(); err != nil {
				return "", err
			}
		case xml.CharData:
			if text = append(text, e...); len(text) > maxText {
				return "", errs.New(errs.Invalid, "has a text of more than %d bytes", maxText)
			}
		case xml.EndElement:
			return string(text), nil
		}
	}
}

// end returns an error if another element follows.
func (s *xmlStream) end() error {
	for {
		token, err := s.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if e, ok := token.(xml.StartElement); ok {
			return errs.New(errs.Corrupt, "is no XML: <%.40s> follows its end", e.Name.Local)
		}
	}
}

// attribute returns an attribute of an element; "": it has none.
func attribute(e *xml.StartElement, name string) string {
	for i := range e.Attr {
		if e.Attr[i].Name.Local == name {
			return e.Attr[i].Value
		}
	}
	return ""
}
