package compute

import (
	"math"

	"deeplake/core/array"
	"deeplake/core/tensor"
)

// Limit names the values of a measure that the caller does not need: values strictly above At, or
// strictly below.
type Limit struct {
	At    float64
	Above bool
	// takes the values if it has two for each row, which saves memory for each value
	Room []float64
}

// Sought returns a vector to measure rows against, in the form of the loops: they need not convert
// it for each batch.
func Sought(y *array.Column) *array.Column {
	if d, ok := y.Data.([]float32); ok && !y.Weak && !y.List {
		wide := *y
		wide.DType, wide.Data = tensor.Float64, array.As[float64](d)
		return &wide
	}
	return y
}

// lowerBound is the threshold of a float32 pass over rows of a measure. Rows beyond it need no
// exact value.
type lowerBound struct {
	// the vector to measure against, with zeros up to a multiple of lowerBoundSums
	vector []float32
	// value v of a row of length l is beyond if it is beyond at + sign(slope) * sqrt(|slope|) * l
	at, slope float64
	above     bool
}

// lowerBoundSums counts the sums that the pass keeps side by side.
const lowerBoundSums = 32

// lowerBound derives the threshold of the float32 pass. ok is false if the pass could reject no
// row.
//
// docs/design/vector-search.md derives the bounds. Its names are used below: g and w bound the
// relative errors of the sums in float32 and float64. e is the length of b minus b rounded to
// float32. tiny and part bound the error of underflow. The C code never rejects rows whose |a|^2 is
// below 2^-80, or that overflow or have NaN.
func (l Limit) lowerBound(m measure, b []float64) (*lowerBound, bool) {
	n := float64(len(b))
	k := (math.Floor(n/lowerBoundSums) + 10) * 0x1p-24
	if k > 0.01 || l.At != l.At {
		return nil, false
	}
	g, w, tiny, part := k/(1-k), (n+16)*0x1p-52, n*0x1p-120, n*0x1p-40
	out := &lowerBound{vector: make([]float32, (len(b)+lowerBoundSums-1)/lowerBoundSums*lowerBoundSums), above: l.Above}
	square, lost := 0.0, 0.0
	for i, v := range b {
		f := float32(v)
		out.vector[i] = f
		square += v * v
		lost += (v - float64(f)) * (v - float64(f))
	}
	length, e := math.Sqrt(square)*(1+w), math.Sqrt(lost)*(1+w)+tiny
	if m == l2Apart {
		if out.at = l.At*(1+2*w) + e; l.Above {
			out.at = out.at*out.at*(1+g+2*w) + tiny
			return out, l.At >= 0
		}
		out.at = l.At*(1-2*w) - e
		usable := out.at > 0
		out.at = out.at*out.at*(1-g-2*w) - tiny
		return out, usable
	}
	if !(length > 0x1p-40 && length < 0x1p60) {
		return nil, false
	}
	off := (g*(length+e)+e)/length + part + 2*w // of |a| |b|
	switch {
	case m == dot && l.Above:
		out.at, out.slope = l.At, off*length*(1+2*(g+part)+0x1p-20)
	case m == dot:
		out.at, out.slope = l.At, -off*length*(1+2*(g+part)+0x1p-20)
	case l.Above:
		out.slope = (l.At + off + 2*(g+part) + 4*w + 0x1p-40) * length
	default:
		out.slope = (l.At - off - 2*(g+part) - 4*w - 0x1p-40) * length
	}
	out.slope *= math.Abs(out.slope)
	return out, off < 0.1
}

// room returns memory for the values of rows, and memory for twice as many that begins there. The
// second is nil if the caller gave no Room.
func (l *Limit) room(rows int) (dst, twice []float64) {
	if l == nil || len(l.Room) < 2*rows {
		return make([]float64, rows), nil
	}
	clear(l.Room[:rows])
	return l.Room[:rows:rows], l.Room[: 2*rows : 2*rows]
}

// near measures rows like measure, except for rows beyond the limit.
func (p *pairing) near(rows int, dst []float64) bool {
	if p.limit == nil || !p.y.Const || p.x.DType != tensor.Float32 || p.m != dot && p.m != cosine && p.m != l2Apart {
		return false
	}
	a, _ := p.x.Data.([]float32)
	b, ok := p.other(p.x.DType).Data.([]float64)
	if a == nil || !ok || len(b) != p.x.RowSize() {
		return false
	}
	r, ok := p.limit.lowerBound(p.m, b)
	return ok && nearNative(p.m, a, b, r, rows, dst)
}
