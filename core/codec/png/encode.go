package png

import (
	"encoding/binary"
	"slices"

	"deeplake/core/errs"
)

// level of the compressor: the next one takes two to five times as long for a few percent.
const level = 6

// encoder keeps its compressor and rows from picture to picture.
type encoder struct {
	out     []byte
	deflate *deflater
	row     []byte // the current row, big-endian
	above   []byte // the row before it
	trial   []byte // filter byte and filtered row being tried
	best    []byte // the same of the best filter so far
}

// Write appends the output of the compressor.
func (e *encoder) Write(b []byte) (int, error) {
	e.out = append(e.out, b...)
	return len(b), nil
}

func (e *encoder) encode(dst, pix []byte, p picture) ([]byte, error) {
	e.out = append(dst, signature...)
	header := make([]byte, 13)
	binary.BigEndian.PutUint32(header, uint32(p.width))
	binary.BigEndian.PutUint32(header[4:], uint32(p.height))
	header[8], header[9] = p.depth, p.colour
	at := e.begin("IHDR")
	e.out = append(e.out, header...)
	e.end(at)

	at = e.begin(idatName)
	if err := e.rows(pix, p); err != nil {
		e.out = nil
		return dst, errs.Op("encode png", "").New(errs.Internal, "%w", err)
	}
	if n := len(e.out) - at - 8; n > maxSide {
		e.out = nil
		return dst, errs.Op("encode png", "").New(errs.Invalid, "%d compressed bytes, want at most %d; split the image", n, maxSide)
	}
	e.end(at)
	e.end(e.begin("IEND"))
	out := e.out
	e.out = nil // the caller's
	return out, nil
}

// begin starts a chunk and returns its position; end fills in its length and checksum.
func (e *encoder) begin(name string) int {
	at := len(e.out)
	e.out = append(append(e.out, 0, 0, 0, 0), name...)
	return at
}

func (e *encoder) end(at int) {
	binary.BigEndian.PutUint32(e.out[at:], uint32(len(e.out)-at-8))
	e.out = binary.BigEndian.AppendUint32(e.out, checksum(e.out[at+4:]))
}

// rows compresses the pixels, each row with the filter that promises the smallest result.
func (e *encoder) rows(pix []byte, p picture) error {
	if e.deflate == nil {
		var err error
		if e.deflate, err = newDeflater(e, level); err != nil {
			return err
		}
	} else {
		e.deflate.Reset(e)
	}
	n, pixel := p.rowSize(p.width)-1, (p.bits()+7)/8
	for _, b := range []*[]byte{&e.row, &e.above} {
		*b = slices.Grow((*b)[:0], n)[:n]
	}
	for _, b := range []*[]byte{&e.trial, &e.best} {
		*b = slices.Grow((*b)[:0], n+1)[:n+1]
	}
	clear(e.above)
	for y := range p.height {
		source := pix[y*(len(pix)/p.height):][:len(pix)/p.height]
		if p.depth == 1 {
			pack(e.row, source)
		} else if p.depth == 16 {
			for i := 0; i+1 < n; i += 2 {
				e.row[i], e.row[i+1] = source[i+1], source[i]
			}
		} else {
			copy(e.row, source)
		}
		if _, err := e.deflate.Write(e.choose(pixel)); err != nil {
			return err
		}
		e.row, e.above = e.above, e.row
	}
	return e.deflate.Close()
}

// pack makes bits of bools, the first one highest.
func pack(to, bools []byte) {
	clear(to)
	for i, b := range bools {
		if b != 0 {
			to[i/8] |= 0x80 >> (i % 8)
		}
	}
}

// choose returns the filter byte and the filtered row.
func (e *encoder) choose(pixel int) []byte {
	least := int(^uint(0) >> 1)
	for f := byte(filterNone); f <= filterPaeth; f++ {
		e.trial[0] = f
		applyFilter(f, e.trial[1:], e.row, e.above, pixel)
		if sum := magnitude(e.trial[1:]); sum < least {
			least = sum
			e.trial, e.best = e.best, e.trial
		}
	}
	return e.best
}
