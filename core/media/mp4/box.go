package mp4

import (
	"context"

	"deeplake/core/media"
)

const (
	// headBytes of the file are read first. Files whose tables come first often need no more.
	headBytes = 64 << 10
	// besideBytes are read at once at later places, so that small boxes take one request.
	besideBytes = 8 << 10
	// maxBox bounds a box that is read into memory.
	maxBox = 512 << 20
)

// source reads parts of a file.
type source struct {
	r    media.Reader
	size int64
	off  int64 // of p in the file
	p    []byte
}

// bytes returns n bytes from off on, which must lie in the file. They stay valid.
func (s *source) bytes(ctx context.Context, off, n int64) ([]byte, error) {
	if at := off - s.off; s.p == nil || at < 0 || at+n > int64(len(s.p)) {
		step := int64(besideBytes)
		if s.p == nil {
			step = headBytes
		}
		// 16 bytes more are the head of the next box.
		p := make([]byte, min(max(n+16, step), s.size-off))
		if err := s.r.ReadAt(ctx, p, off); err != nil {
			return nil, err
		}
		s.off, s.p = off, p
	}
	at := off - s.off
	return s.p[at : at+n : at+n], nil
}

// span is a box of the file itself, not within another one.
type span struct {
	kind      string
	off       int64
	body, end int64 // of its content
}

// box reads the head of the box at off.
func (s *source) box(ctx context.Context, off int64) (span, error) {
	left := s.size - off
	if left < 8 {
		return span{}, invalid("the file ends at byte %d within the head of a box, which begins at byte %d", s.size, off)
	}
	p, err := s.bytes(ctx, off, min(left, 16))
	if err != nil {
		return span{}, err
	}
	n, head, ok := boxSize(p, left)
	b := span{kind: string(p[4:8]), off: off, body: off + head, end: off + n}
	switch {
	case !ok:
		return b, invalid("box %q at byte %d has a size that no box can have", b.kind, off)
	case n > left:
		return b, invalid("the file ends at byte %d within box %q, which begins at byte %d and has %d bytes", s.size, b.kind, off, n)
	}
	return b, nil
}

// read returns the content of b.
func (s *source) read(ctx context.Context, b span) ([]byte, error) {
	if b.end-b.body > maxBox {
		return nil, invalid("box %q has %d bytes, want at most %d", b.kind, b.end-b.body, maxBox)
	}
	return s.bytes(ctx, b.body, b.end-b.body)
}

// boxSize returns the bytes of the box that begins with p, and of its head. It is the last one of
// left bytes where it states 0.
func boxSize(p []byte, left int64) (n, head int64, ok bool) {
	switch size := be32(p); {
	case size == 0:
		return left, 8, true
	case size != 1:
		return int64(size), 8, size >= 8
	case len(p) < 16:
		return 0, 16, false
	}
	n = int64(be64(p[8:]))
	return n, 16, n >= 16
}

// each calls f with the boxes of p, the content of the box parent. QuickTime may end it by four
// zero bytes.
func each(parent string, p []byte, f func(kind string, body []byte) error) error {
	for len(p) >= 8 {
		n, head, ok := boxSize(p, int64(len(p)))
		if !ok || n > int64(len(p)) {
			return invalid("box %q within %q has %d bytes, and %d are left", p[4:8], parent, n, len(p))
		}
		if err := f(string(p[4:8]), p[head:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// find returns the content of the first box of a kind, nil where there is none.
func find(parent string, p []byte, kind string) ([]byte, error) {
	for len(p) >= 8 {
		n, head, ok := boxSize(p, int64(len(p)))
		if !ok || n > int64(len(p)) {
			return nil, invalid("box %q within %q has %d bytes, and %d are left", p[4:8], parent, n, len(p))
		}
		if string(p[4:8]) == kind {
			return p[head:n:n], nil
		}
		p = p[n:]
	}
	return nil, nil
}

// walk returns the content of the box at the end of a path, nil where there is none.
func walk(parent string, p []byte, path ...string) ([]byte, error) {
	var err error
	for _, kind := range path {
		if p, err = find(parent, p, kind); p == nil || err != nil {
			return nil, err
		}
		parent = kind
	}
	return p, nil
}

// need is walk for a box that must be there and have least bytes.
func need(parent string, p []byte, least int, path ...string) ([]byte, error) {
	body, err := walk(parent, p, path...)
	if err != nil {
		return nil, err
	}
	if body == nil {
		return nil, invalid("box %q has no box %q", parent, path[len(path)-1])
	}
	return body, atLeast(path[len(path)-1], body, least)
}

// atLeast checks the bytes of a box.
func atLeast(kind string, body []byte, least int) error {
	if len(body) < least {
		return invalid("box %q has %d bytes of content, want at least %d", kind, len(body), least)
	}
	return nil
}

// table is the content of a box that states a number of entries of width bytes each.
type table struct {
	kind    string
	version byte
	width   int
	p       []byte
}

// newTable checks the count of the box body against its bytes. Entries have the given number of
// bytes. The table of a box that is not there has no entries.
func newTable(kind string, body []byte, width int) (table, error) {
	if body == nil {
		return table{kind: kind, width: width}, nil
	}
	if err := atLeast(kind, body, 8); err != nil {
		return table{}, err
	}
	n := int64(be32(body[4:]))
	if n*int64(width) > int64(len(body)-8) {
		return table{}, invalid("box %q states %d entries of %d bytes, and has %d bytes for them", kind, n, width, len(body)-8)
	}
	return table{kind, body[0], width, body[8 : 8+n*int64(width)]}, nil
}

// count is the number of entries.
func (t table) count() int { return len(t.p) / t.width }

// at returns the bytes of an entry.
func (t table) at(i int) []byte { return t.p[i*t.width:] }
