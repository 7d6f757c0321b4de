package format

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// reader takes binary fields off the front of a payload. The first error stays and later reads
// return zeros, so that callers check once per structure; loops stay bounded because every count is
// held against the bytes that are left.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.b = nil
}

// bytes takes n bytes, which stay a part of the payload.
func (r *reader) bytes(n int64, what string) []byte {
	if n < 0 || n > int64(len(r.b)) {
		r.fail("%s: %d bytes are left, want %d", what, len(r.b), n)
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) byte(what string) byte {
	if b := r.bytes(1, what); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uuid(what string) (u UUID) {
	copy(u[:], r.bytes(int64(len(u)), what))
	return u
}

// raw takes a uvarint in its shortest form.
func (r *reader) raw(what string) uint64 {
	if len(r.b) > 0 && r.b[0] < 0x80 {
		v := r.b[0]
		r.b = r.b[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(r.b)
	if n <= 0 || (n > 1 && r.b[n-1] == 0) {
		r.fail("%s: not a uvarint in its shortest form", what)
		return 0
	}
	r.b = r.b[n:]
	return v
}

// uvarint takes a number of 0 to limit.
func (r *reader) uvarint(limit int64, what string) int64 {
	v := r.raw(what)
	if v > uint64(limit) {
		r.fail("%s is %d, want at most %d", what, v, limit)
		return 0
	}
	return int64(v)
}

// svarint takes a zigzag-coded number.
func (r *reader) svarint(what string) int64 {
	return unzigzag(r.raw(what))
}

// count reads the number of elements that follow, each of at least size bytes, and refuses more
// than the rest of the input can hold.
func (r *reader) count(limit, size int64, what string) int64 {
	n := r.uvarint(limit, what)
	if n > int64(len(r.b))/size {
		r.fail("%s is %d, but only %d bytes are left", what, n, len(r.b))
		return 0
	}
	return n
}

// end refuses trailing bytes.
func (r *reader) end() error {
	if r.err == nil && len(r.b) > 0 {
		r.err = fmt.Errorf("%d bytes are left over", len(r.b))
	}
	return r.err
}

// appendUvarint appends v, which the caller has found to be >= 0.
func appendUvarint(b []byte, v int64) []byte { return binary.AppendUvarint(b, uint64(v)) }

// appendSvarint appends v zigzag-coded.
func appendSvarint(b []byte, v int64) []byte {
	return binary.AppendUvarint(b, zigzag(v))
}

// Numbers that scatter around one value, such as the sizes of chunks, are stored as differences
// from a base in planes of bytes: the upper planes are then nearly constant and vanish under zstd,
// and a single number far off costs little. Against differences from the number before, as varints,
// this saves an eighth of a leaf page.

// planesAbove marks differences from the least of the numbers, which have no sign.
const planesAbove = 0x10

// appendPlanes appends values, of which there is at least one, all >= 0.
func appendPlanes(b []byte, values []int64) []byte {
	base := slices.Min(values)
	width := (bits.Len64(uint64(slices.Max(values)-base)) + 7) / 8
	b = append(appendUvarint(b, base), byte(width)|planesAbove)
	for plane := width - 1; plane >= 0; plane-- {
		for _, v := range values {
			b = append(b, byte(uint64(v-base)>>(8*plane)))
		}
	}
	return b
}

// planes takes n numbers. Since the base is within 0 to MaxRows, a sum that overflows is negative;
// callers refuse that.
func (r *reader) planes(n int64) []int64 {
	base := r.uvarint(MaxRows, "base of a column")
	flags := r.byte("planes of a column")
	width := int64(flags) - planesAbove
	if width < 0 || width > 8 {
		r.fail("a column has planes %d, want %d to %d", flags, planesAbove, planesAbove+8)
		return nil
	}
	body := r.bytes(n*width, "planes of a column")
	if r.err != nil {
		return nil
	}
	far := make([]uint64, n)
	for plane := range width {
		for i := range far {
			far[i] = far[i]<<8 | uint64(body[plane*n+int64(i)])
		}
		if plane == 0 && !slices.ContainsFunc(far, func(v uint64) bool { return v > 0 }) {
			r.fail("the first of %d planes has only zeros", width)
		}
	}
	values := make([]int64, n)
	for i, z := range far {
		if z > MaxRows {
			r.fail("a difference in planes is %d, want at most %d", z, int64(MaxRows))
			return nil
		}
		values[i] = base + int64(z)
	}
	return values
}

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// scattered are the values of a column in planes; one that is left out is all zeros.
func (c *columns) scattered(col int, n int64) ([]int64, error) {
	if !c.present[col] {
		return make([]int64, n), nil
	}
	values := c.body[col].planes(n)
	if err := c.body[col].err; err != nil {
		return nil, fmt.Errorf("column %d: %w", col, err)
	}
	c.nonzero[col] = slices.ContainsFunc(values, func(v int64) bool { return v != 0 })
	return values, nil
}
