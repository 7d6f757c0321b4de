package matroska

import (
	"context"
	"slices"

	"deeplake/core/errs"
	"deeplake/core/media"
)

const (
	// firstBytes of the file are read first.
	firstBytes = 64 << 10
	// throughBytes is the size of a read while the heads of blocks lie close together. A request to
	// a store takes as long as the transfer of 1 MiB, so one for each head would be slower.
	throughBytes = 1 << 20
	// besideBytes is the size of a read where heads lie far apart. The bytes between are skipped.
	besideBytes = 8 << 10
	// farBytes is the mean distance between heads above which each gets a read of its own.
	farBytes = 256 << 10
	// maxElement bounds an element that is read into memory.
	maxElement = 16 << 20
)

// source reads parts of a file.
type source struct {
	r    media.Reader
	size int64
	off  int64 // of p in the file
	p    []byte
	// distance of the heads of blocks, the mean of the last ones
	distance int64
}

// bytes returns n bytes from off on, which must lie in the file. They are valid until the next
// call.
func (s *source) bytes(ctx context.Context, off, n int64) ([]byte, error) {
	at := off - s.off
	if at < 0 || at+n > int64(len(s.p)) {
		if ctx.Err() != nil {
			return nil, errs.Cause(ctx, "index video")
		}
		window := int64(throughBytes)
		switch {
		case off == 0:
			window = firstBytes
		case s.distance > farBytes:
			window = besideBytes
		}
		window = min(max(n, window), s.size-off)
		p := slices.Grow(s.p[:0], int(window))[:window]
		s.off, s.p = off, nil
		if err := s.r.ReadAt(ctx, p, off); err != nil {
			return nil, err
		}
		s.p, at = p, 0
	}
	return s.p[at : at+n], nil
}

// passed notes the bytes from the head of a block to the next one.
func (s *source) passed(n int64) { s.distance += (n - s.distance) / 8 }

// element reads the head of the element at off, which lies within parent.
func (s *source) element(ctx context.Context, off int64, parent element) (element, error) {
	left := s.size - off
	p, err := s.bytes(ctx, off, min(left, headBytes))
	if err != nil {
		return element{}, err
	}
	e, ok := parse(p, off)
	switch {
	case !ok && left < headBytes:
		return e, invalid("the file ends at byte %d within the head of an element, which begins at byte %d", s.size, off)
	case !ok:
		return e, invalid("no element begins at byte %d, where one must, but % x", off, p[:4])
	case e.open && e.id != idSegment && (e.id != idCluster || parent.id != idSegment && !parent.open):
		return e, invalid("element %v at byte %d states no size", e.id, off)
	case e.open:
		e.end = max(parent.end, e.body)
	case e.end > s.size:
		return e, invalid("the file ends at byte %d within element %v, which begins at byte %d and has %d bytes", s.size, e.id, off, e.end-e.body)
	}
	if e.end > parent.end {
		return e, invalid("element %v at byte %d has %d bytes, and element %v ends at byte %d", e.id, off, e.end-e.body, parent.id, parent.end)
	}
	return e, nil
}

// each reads the content of an element, and calls f with the elements of it.
func (s *source) each(ctx context.Context, e element, f func(e element, body []byte) error) error {
	p, err := s.content(ctx, e)
	if err != nil {
		return err
	}
	return e.each(p, f)
}

// content returns the content of an element. It is valid until the next one is read.
func (s *source) content(ctx context.Context, e element) ([]byte, error) {
	if e.open {
		return nil, invalid("element %v at byte %d states no size", e.id, e.off)
	}
	if e.end-e.body > maxElement {
		return nil, invalid("element %v at byte %d has %d bytes, want at most %d", e.id, e.off, e.end-e.body, maxElement)
	}
	return s.bytes(ctx, e.body, e.end-e.body)
}
