package format

import (
	"fmt"
	"math/bits"
	"slices"
)

// Numbers that scatter around one value, such as the sizes of chunks, are stored as differences
// from a base in planes of bytes: the upper planes are then nearly constant and vanish under zstd,
// and a single number far off costs little. Against differences from the number before, as varints,
// this saves an eighth of a leaf page.

// planesAbove marks differences that are all from the least of the numbers, without a sign. Writers
// use only these: the sign is random, as the sizes of chunks lie on one side of the target.
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
	above, width := flags&planesAbove != 0, int64(flags&^planesAbove)
	if width > 8 {
		r.fail("a column has %d planes, want at most 8", width)
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
		if above && z > MaxRows {
			r.fail("a difference in planes is %d, want at most %d", z, int64(MaxRows))
			return nil
		}
		if values[i] = base + int64(z); !above {
			values[i] = base + unzigzag(z)
		}
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
