package compute

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unsafe"

	"deeplake/core/array"
	"deeplake/core/tensor"
)

// regular reports whether rows of one shape are measured against one vector, or against as many.
func (p *pairing) regular() bool {
	return p.x.Uniform() && p.y.Uniform() && !p.x.Const && p.x.RowSize() > 0 && p.y.RowSize() == p.x.RowSize()
}

// measure measures floats in C; false if it cannot.
func (p *pairing) measure(m measure, rows int, dst []float64, whole []int64) bool {
	k := p.x.RowSize()
	a, d := floatData(p.x.Data)
	b, e := floatData(p.other(p.x.DType).Data)
	if a == nil || b == nil || d == tensor.Float64 && e != d {
		return false
	}
	step := k
	if p.y.Const {
		step = 0
	}
	return measureNative(m, d, e, a, b, step, rows, k, dst, whole)
}

func (p *pairing) nativeUnequal(dst []int64) bool {
	return p.regular() && p.measure(unequal, len(dst), nil, dst)
}

// native measures in C: rows of one shape against one vector, or against as many.
func (p *pairing) native(dst []float64) bool {
	if !p.regular() {
		return false
	}
	if p.x.DType == tensor.Int8 || p.x.DType == tensor.Uint8 {
		return p.bytesFloats(dst)
	}
	rows := len(dst)
	out := dst
	if p.m == cosine {
		if out = p.twice; out == nil {
			out = make([]float64, 2*rows)
		}
	}
	if !p.near(rows, out) && !p.measure(p.m, rows, out, nil) {
		return false
	}
	switch p.m {
	case l2Apart:
		for i, v := range dst {
			dst[i] = math.Sqrt(v)
		}
	case cosine:
		copy(dst, out[:rows])
		if p.y.Const {
			one := array.As[float64](p.other(p.x.DType).Data)
			n := math.Sqrt(measureFloats(dot, one, one))
			for i := range dst {
				dst[i] /= math.Sqrt(out[rows+i]) * n
			}
			return true
		}
		self := make([]float64, 2*rows)
		b := p.other(p.x.DType)
		if !(&pairing{x: b, y: b}).measure(dot, rows, self, nil) {
			return false
		}
		for i := range dst {
			dst[i] /= math.Sqrt(out[rows+i]) * math.Sqrt(self[i])
		}
	}
	return true
}

// other returns the second column in the form of the loops: a vector written in the query has the
// dtype of the column. A vector against many rows is converted to float64 once.
func (p *pairing) other(d tensor.DType) *array.Column {
	y := p.y
	if !y.Const || y.DType == tensor.Float64 && (d != tensor.Float32 || !y.Weak) {
		return y
	}
	data, bad := y.Data, -1
	if d == tensor.Float32 && y.Weak {
		if data, bad = array.Convert(data, d); bad >= 0 {
			return y
		}
	}
	if data, bad = array.Convert(data, tensor.Float64); bad >= 0 {
		return y
	}
	out := *y
	out.DType, out.Data = tensor.Float64, data
	return &out
}

func floatData(data any) (unsafe.Pointer, tensor.DType) {
	switch d := data.(type) {
	case []float32:
		return pointer(d), tensor.Float32
	case []float64:
		return pointer(d), tensor.Float64
	}
	return nil, 0
}

// wholes measures rows of bytes.
func (p *pairing) wholes(m measure, rows int) (whole []int64, y *array.Column, ok bool) {
	y = p.y
	if y.Const && y.DType != p.x.DType {
		data, bad := array.Convert(y.Data, p.x.DType)
		if bad >= 0 || y.Float() && !integral(y.Data) {
			return nil, nil, false
		}
		small := *y
		small.DType, small.Data = p.x.DType, data
		y = &small
	}
	k := p.x.RowSize()
	if !p.x.Uniform() || !y.Uniform() || p.x.Const || y.DType != p.x.DType || k == 0 || y.RowSize() != k {
		return nil, nil, false
	}
	step := k
	if y.Const {
		step = 0
	}
	a, b := byteData(p.x.Data), byteData(y.Data)
	if a == nil {
		return nil, nil, false
	}
	whole = make([]int64, 2*rows)
	return whole, y, measureNative(m, p.x.DType, y.DType, a, b, step, rows, k, nil, whole)
}

func byteData(data any) unsafe.Pointer {
	switch d := data.(type) {
	case []int8:
		return pointer(d)
	case []uint8:
		return pointer(d)
	}
	return nil
}

func integral(data any) bool {
	for _, v := range array.As[float64](data) {
		if v != math.Trunc(v) {
			return false
		}
	}
	return true
}

// nativeInts computes whole results: products of bytes, and counts of different elements.
func (p *pairing) nativeInts(dst []int64) bool {
	if p.m == unequal && p.x.Float() {
		return p.nativeUnequal(dst)
	}
	whole, _, ok := p.wholes(p.m, len(dst))
	if ok {
		copy(dst, whole)
	}
	return ok
}

// bytesFloats computes lengths and distances of the exact products.
func (p *pairing) bytesFloats(dst []float64) bool {
	whole, y, ok := p.wholes(p.m, len(dst))
	if !ok {
		return false
	}
	if p.m != cosine && p.m != l2Apart {
		for i := range dst {
			dst[i] = float64(whole[i])
		}
		return true
	}
	rows := len(dst)
	self := make([]int64, rows)
	if y.Const {
		one := array.As[int64](y.Data)
		n := int64(0)
		for _, v := range one {
			n += v * v
		}
		for i := range self {
			self[i] = n
		}
	} else {
		q := &pairing{x: y, y: y}
		again, _, ok := q.wholes(dot, rows)
		if !ok {
			return false
		}
		self = again[:rows]
	}
	for i := range dst {
		ab, aa, bb := whole[i], whole[rows+i], self[i]
		switch p.m {
		case cosine:
			dst[i] = float64(ab) / (math.Sqrt(float64(aa)) * math.Sqrt(float64(bb)))
		default:
			dst[i] = math.Sqrt(float64(aa - 2*ab + bb))
		}
	}
	return true
}

// bits counts the bits that differ, eight bytes at a time.
func (p *pairing) bits(dst []int64, null []bool) bool {
	a, b := array.Elems[uint8](p.x), array.Elems[uint8](p.y)
	for i := range dst {
		if null != nil && null[i] {
			continue
		}
		lo, hi := p.x.Span(i)
		from, to := p.y.Span(i)
		dst[i] = differentBits(a[lo:hi], b[from:to])
	}
	return true
}

func differentBits(u, v []uint8) int64 {
	n := 0
	for len(u) >= 32 && len(v) >= 32 {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(u)^binary.LittleEndian.Uint64(v)) +
			bits.OnesCount64(binary.LittleEndian.Uint64(u[8:])^binary.LittleEndian.Uint64(v[8:])) +
			bits.OnesCount64(binary.LittleEndian.Uint64(u[16:])^binary.LittleEndian.Uint64(v[16:])) +
			bits.OnesCount64(binary.LittleEndian.Uint64(u[24:])^binary.LittleEndian.Uint64(v[24:]))
		u, v = u[32:], v[32:]
	}
	for i, x := range u {
		n += bits.OnesCount8(x ^ v[i])
	}
	return int64(n)
}

// normNative is norms as distances from nothing; nil where C cannot.
func normNative(w *array.Work, x *array.Column, m measure) *array.Column {
	if !x.Uniform() || x.Const || x.DType != tensor.Float32 && x.DType != tensor.Float64 || x.RowSize() == 0 {
		return nil
	}
	zero := array.Constant(array.Type{DType: x.DType, Dims: 1}, array.NewVector(x.DType, x.RowSize()).Data(), x.N)
	p := &pairing{m: map[measure]measure{l1: l1Apart, l2: l2Apart, linf: linfApart}[m], x: x, y: zero}
	dst, ok := array.Room[float64](w, x.N)
	if !ok {
		return array.Nothing(array.Of(tensor.Float64), x.N)
	}
	if !p.native(dst) {
		return nil
	}
	return array.FromFloats(dst, x.Null).ZeroNulls()
}
