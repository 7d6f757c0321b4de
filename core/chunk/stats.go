package chunk

import (
	"cmp"
	"math"
	"unsafe"

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
	lo, hi, any, ok := extremes(s.dtype, it.Data)
	if !ok {
		s.scalar = false
		return
	}
	if any && (!s.any || s.less(lo, s.lo)) {
		s.lo = lo
	}
	if any && (!s.any || s.less(s.hi, hi)) {
		s.hi = hi
	}
	s.any = s.any || any
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

// extremes returns the least and the largest of little-endian elements, and whether there are any;
// ok is false if one is NaN.
func extremes(d tensor.DType, p []byte) (lo, hi number, any, ok bool) {
	if len(p) < d.Size() {
		return lo, hi, false, true
	}
	ok = true
	switch d {
	case tensor.Bool, tensor.Uint8:
		lo.u, hi.u = unsigned[uint8](p)
	case tensor.Uint16:
		lo.u, hi.u = unsigned[uint16](p)
	case tensor.Uint32:
		lo.u, hi.u = unsigned[uint32](p)
	case tensor.Uint64:
		lo.u, hi.u = unsigned[uint64](p)
	case tensor.Int8:
		lo.i, hi.i = signed[int8](p)
	case tensor.Int16:
		lo.i, hi.i = signed[int16](p)
	case tensor.Int32:
		lo.i, hi.i = signed[int32](p)
	case tensor.Int64:
		lo.i, hi.i = signed[int64](p)
	case tensor.Float32:
		lo.f, hi.f, ok = floats[float32](p)
	case tensor.Float64:
		lo.f, hi.f, ok = floats[float64](p)
	}
	return lo, hi, true, ok
}

func unsigned[T uint8 | uint16 | uint32 | uint64](p []byte) (lo, hi uint64) {
	a, b := bounds[T](p)
	return uint64(a), uint64(b)
}

func signed[T int8 | int16 | int32 | int64](p []byte) (lo, hi int64) {
	a, b := bounds[T](p)
	return int64(a), int64(b)
}

// floats is bounds of numbers of which none may be NaN.
func floats[T float32 | float64](p []byte) (lo, hi float64, ok bool) {
	for _, x := range elements[T](p) {
		if x != x {
			return 0, 0, false
		}
	}
	a, b := bounds[T](p)
	return float64(a), float64(b), true
}

// bounds returns the least and the largest of elements, of which there is one.
func bounds[T cmp.Ordered](p []byte) (lo, hi T) {
	v := elements[T](p)
	lo, hi = v[0], v[0]
	for _, x := range v {
		if x < lo {
			lo = x
		}
		if x > hi {
			hi = x
		}
	}
	return lo, hi
}

// elements shows little-endian bytes, which may be unaligned, as values of this machine.
func elements[T any](p []byte) []T {
	var one T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(p))), len(p)/int(unsafe.Sizeof(one)))
}
