package format

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Flags of stored statistics.
const (
	statsRange  = 1 << 0
	statsShapes = 1 << 1
)

func (s Stats) check() error {
	if !s.HasRange && (s.Min != 0 || s.Max != 0) {
		return fmt.Errorf("statistics have a minimum or maximum but no range")
	}
	return checkBounds(s.MinShape, s.MaxShape)
}

// Coarse rounds the bounds of axes that vary outwards, for a chunk behind one with the bounds
// before: to a bound of that one, where it holds and is not much looser, else to a power of two.
// The exact bounds of some samples are random numbers, and would be two thirds of a chunk map.
// Where all samples have one shape the result is s, else it shares nothing.
func (s Stats) Coarse(before Stats) Stats {
	if slices.Equal(s.MinShape, s.MaxShape) {
		return s
	}
	out := s
	out.MinShape, out.MaxShape = s.MinShape.Clone(), s.MaxShape.Clone()
	for i, lo := range s.MinShape {
		hi := s.MaxShape[i]
		if lo == hi {
			continue
		}
		least := int64(1) << bits.Len64(uint64(lo)) >> 1
		most := min(int64(tensor.MaxSampleBytes), int64(1)<<bits.Len64(uint64(hi-1)))
		if len(before.MinShape) == len(s.MinShape) {
			if was := before.MinShape[i]; was <= lo && was >= least/coarseSlack {
				least = was
			}
			if was := before.MaxShape[i]; was >= hi && was <= most*coarseSlack {
				most = was
			}
		}
		out.MinShape[i], out.MaxShape[i] = least, most
	}
	return out
}

// coarseSlack bounds the ratio of a bound from the chunk before to a power of two.
const coarseSlack = 4

// append appends the stored form: nothing for the zero value.
func (s Stats) append(b []byte) []byte {
	var flags byte
	if s.HasRange {
		flags |= statsRange
	}
	if s.MinShape != nil {
		flags |= statsShapes
	}
	if flags == 0 {
		return b
	}
	b = append(b, flags)
	if s.HasRange {
		b = binary.LittleEndian.AppendUint64(b, s.Min)
		b = binary.LittleEndian.AppendUint64(b, s.Max)
	}
	if s.MinShape != nil {
		b = appendUvarint(b, int64(len(s.MinShape)))
		b = appendAxes(appendAxes(b, s.MinShape), s.MaxShape)
	}
	return b
}

func decodeStats(b []byte) (Stats, error) {
	var s Stats
	if len(b) == 0 {
		return s, nil
	}
	r := reader{b: b}
	flags := r.byte("flags of statistics")
	if flags&^(statsRange|statsShapes) != 0 {
		return s, errs.New(errs.Unsupported, "statistics have flags %#02x, which are not all known; a newer version of this library may read them", flags)
	}
	if flags == 0 {
		return s, fmt.Errorf("statistics announce nothing")
	}
	if flags&statsRange != 0 {
		s.HasRange = true
		if lohi := r.bytes(16, "range of statistics"); lohi != nil {
			s.Min, s.Max = binary.LittleEndian.Uint64(lohi), binary.LittleEndian.Uint64(lohi[8:])
		}
	}
	if flags&statsShapes != 0 {
		n := r.count(tensor.MaxDims, 2, "axes of statistics")
		both := r.axes(make(tensor.Shape, 0, 2*n), 2*n, 0)
		if r.err == nil {
			s.MinShape, s.MaxShape = both[:n:n], both[n:]
		}
	}
	if err := r.end(); err != nil {
		return Stats{}, err
	}
	return s, s.check()
}

// axes appends n axes of at least low to dst.
func (r *reader) axes(dst tensor.Shape, n, low int64) tensor.Shape {
	for range n {
		d := r.uvarint(tensor.MaxSampleBytes, "axis")
		if d < low {
			r.fail("axis is %d, want at least %d", d, low)
		}
		dst = append(dst, d)
	}
	return dst
}

func appendAxes(b []byte, s tensor.Shape) []byte {
	for _, d := range s {
		b = appendUvarint(b, d)
	}
	return b
}
