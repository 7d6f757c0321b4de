package format

import (
	"encoding/binary"
	"fmt"

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
