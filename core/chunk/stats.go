package chunk

import (
	"encoding/binary"
	"math"

	"deeplake/core/format"
	"deeplake/core/tensor"
)

// statistics gathers format.Stats over the items of a chunk.
type statistics struct {
	dtype  tensor.DType
	scalar bool // every item so far is a scalar of a dtype with an order
	any    bool
	lo, hi number
	shapes bool // every item so far has the same number of axes
	min    tensor.Shape
	max    tensor.Shape
}

// number is a value in the widest type of its class.
type number struct {
	i int64
	u uint64
	f float64
}

func newStatistics(spec *Spec) statistics {
	return statistics{dtype: spec.DType, scalar: ordered(spec.DType) && !spec.Sequence, shapes: spec.DType.Fixed()}
}

// ordered reports whether ranges of d are kept: all but float16, bfloat16, complex and text.
func ordered(d tensor.DType) bool {
	return d >= tensor.Bool && d <= tensor.Int64 || d == tensor.Float32 || d == tensor.Float64
}

// add takes one item in, or several equal-shaped ones whose data lie together.
func (s *statistics) add(it Item) {
	if s.shapes {
		s.widen(it.Shape)
	}
	if !s.scalar {
		return
	}
	if len(it.Shape) > 0 {
		s.scalar = false
		return
	}
	size := s.dtype.Size()
	for at := 0; at+size <= len(it.Data); at += size {
		v, ok := decodeNumber(s.dtype, it.Data[at:at+size])
		if !ok {
			s.scalar = false
			return
		}
		if !s.any || s.less(v, s.lo) {
			s.lo = v
		}
		if !s.any || s.less(s.hi, v) {
			s.hi = v
		}
		s.any = true
	}
}

func (s *statistics) widen(shape tensor.Shape) {
	switch {
	case s.max == nil:
		s.min, s.max = shape.Clone(), shape.Clone()
		if s.max == nil { // a scalar's shape may come as nil
			s.min, s.max = tensor.Shape{}, tensor.Shape{}
		}
	case len(s.max) != len(shape):
		s.shapes, s.min, s.max = false, nil, nil
	default:
		for i, d := range shape {
			s.min[i], s.max[i] = min(s.min[i], d), max(s.max[i], d)
		}
	}
}

func (s *statistics) less(a, b number) bool {
	switch {
	case s.dtype == tensor.Float32 || s.dtype == tensor.Float64:
		return a.f < b.f
	case s.dtype >= tensor.Int8 && s.dtype <= tensor.Int64:
		return a.i < b.i
	default:
		return a.u < b.u
	}
}

func (s *statistics) bits(v number) uint64 {
	switch {
	case s.dtype == tensor.Float32 || s.dtype == tensor.Float64:
		return math.Float64bits(v.f)
	case s.dtype >= tensor.Int8 && s.dtype <= tensor.Int64:
		return uint64(v.i)
	default:
		return v.u
	}
}

func (s *statistics) result() format.Stats {
	st := format.Stats{MinShape: s.min, MaxShape: s.max}
	if s.scalar && s.any {
		st.HasRange, st.Min, st.Max = true, s.bits(s.lo), s.bits(s.hi)
	}
	return st
}

// decodeNumber reads one little-endian element; ok is false for NaN.
func decodeNumber(d tensor.DType, p []byte) (v number, ok bool) {
	switch d {
	case tensor.Bool, tensor.Uint8:
		v.u = uint64(p[0])
	case tensor.Uint16:
		v.u = uint64(binary.LittleEndian.Uint16(p))
	case tensor.Uint32:
		v.u = uint64(binary.LittleEndian.Uint32(p))
	case tensor.Uint64:
		v.u = binary.LittleEndian.Uint64(p)
	case tensor.Int8:
		v.i = int64(int8(p[0]))
	case tensor.Int16:
		v.i = int64(int16(binary.LittleEndian.Uint16(p)))
	case tensor.Int32:
		v.i = int64(int32(binary.LittleEndian.Uint32(p)))
	case tensor.Int64:
		v.i = int64(binary.LittleEndian.Uint64(p))
	case tensor.Float32:
		v.f = float64(math.Float32frombits(binary.LittleEndian.Uint32(p)))
	case tensor.Float64:
		v.f = math.Float64frombits(binary.LittleEndian.Uint64(p))
	}
	return v, v.f == v.f
}
