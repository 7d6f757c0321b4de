package compute

import (
	"math"
	"math/bits"
	"slices"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/internal/invariant"
	"deeplake/core/tensor"
)

type measure uint8

// The measures of one vector, or of two.
const (
	l1 measure = iota
	l2
	linf
	dot
	cosine
	l1Apart
	l2Apart
	linfApart
	unequal
	popcount
)

// norm returns a norm of all elements of each row.
func norm(w *array.Work, x *array.Column, m measure) *array.Column {
	if out := normNative(w, x, m); out != nil {
		return out
	}
	return reduce(w, tensor.Float64, x, array.Lanes[float64](x.Data), func(v []float64) (float64, bool) { return normOf(v, m), true })
}

func normOf(v []float64, m measure) float64 {
	var s [4]float64
	switch m {
	case l1:
		for i, e := range v {
			s[i&3] += math.Abs(e)
		}
	case l2:
		for len(v) >= 4 {
			s[0] += v[0] * v[0]
			s[1] += v[1] * v[1]
			s[2] += v[2] * v[2]
			s[3] += v[3] * v[3]
			v = v[4:]
		}
		for _, e := range v {
			s[0] += e * e
		}
		return math.Sqrt(s[0] + s[1] + (s[2] + s[3]))
	default:
		for _, e := range v {
			if a := math.Abs(e); a > s[0] || a != a {
				s[0] = a
			}
			if s[0] != s[0] {
				break
			}
		}
	}
	return s[0] + s[1] + s[2] + s[3]
}

func vectorFunctions() []Function {
	pair := func(name, doc string, m measure) Function {
		return Function{Name: name, Least: 2, Most: 2, Doc: name + "(a, b): " + doc,
			Check: func(args []array.Type) (array.Type, error) { return pairType(name, m, args[0], args[1]) },
			Call: func(w *array.Work, args []*array.Column) (*array.Column, error) {
				return pairs(w, name, m, args[0], args[1], nil)
			},
			// Vectors of different lengths fail, and so does DOT beyond int64.
			Facts: Facts{NoAlias: true, Infallible: func(args []Arg, t array.Type) bool {
				return args[0].Known() && args[1].Known() && (m != dot || t.Float())
			}}}
	}
	sought := func(name, doc string, m measure) Function {
		f := pair(name, doc, m)
		f.Bounded = func(w *array.Work, args []*array.Column, l Limit) (*array.Column, error) {
			out, err := pairs(w, name, m, args[0], args[1], &l)
			if invariant.Enabled && err == nil {
				checkBounded(&f, args, l, out)
			}
			return out, err
		}
		return f
	}
	return []Function{
		sought("DOT", "the sum of the products of the elements of two vectors", dot),
		sought("COSINE_SIMILARITY", "DOT divided by both lengths; NaN where one has none", cosine),
		pair("HAMMING_DISTANCE", "bits that differ, of uint8; elements that differ, otherwise", unequal),
		pair("L1_DISTANCE", "L1_NORM(a - b), without an array for the difference", l1Apart),
		sought("L2_DISTANCE", "L2_NORM(a - b), without an array for the difference", l2Apart),
		pair("LINF_DISTANCE", "LINF_NORM(a - b), without an array for the difference", linfApart),
		{Name: "MAXSIM", Least: 2, Most: 2, Doc: "MAXSIM(a, b): for (n, d) and (m, d): of each row of b the greatest DOT with a row of a, added up",
			Check: maxsimType, Call: maxsim, Facts: Facts{NoAlias: true}},
	}
}

func pairType(name string, m measure, x, y array.Type) (array.Type, error) {
	if err := wantNumbers(name, []array.Type{x, y}); err != nil {
		return array.Type{}, err
	}
	a, b := x.Axes(), y.Axes()
	if x.DType != 0 && y.DType != 0 && a != nil && b != nil {
		if len(a) != len(b) {
			return array.Type{}, errs.New(errs.Type, "%s of %s and %s: want vectors of one shape", name, x, y)
		}
		for i := range a {
			if a[i] != b[i] && a[i] >= 0 && b[i] >= 0 {
				return array.Type{}, errs.New(errs.Type, "%s of %s and %s: want vectors of one shape", name, x, y)
			}
		}
	}
	d := tensor.Float64
	if m == unequal || m == dot && !x.Float() && !y.Float() {
		d = tensor.Int64
	}
	return array.Of(d), nil
}

// pairs measures two vectors a row, of equal shapes. Function.Near defines a limit.
func pairs(w *array.Work, name string, m measure, x, y *array.Column, l *Limit) (*array.Column, error) {
	t, err := pairType(name, m, x.Type, y.Type)
	if err != nil {
		return nil, err
	}
	n, _ := array.RowsOf(x, y)
	if x.DType == 0 || y.DType == 0 {
		return array.Nothing(t, n), nil
	}
	if m == unequal {
		if x, y, err = packed(name, x, y); err != nil {
			return nil, err
		}
		if x.DType == tensor.Uint8 && y.DType == tensor.Uint8 {
			m = popcount
		}
	}
	if m == dot && t.DType == tensor.Int64 {
		if err := fits64(name, x, y); err != nil {
			return nil, err
		}
	}
	return array.ForAll(func(c []*array.Column, n int) (*array.Column, error) {
		x, y := c[0], c[1]
		out := &array.Column{Type: t, N: n, Same: tensor.Shape{}, Null: array.AnyNull(n, x, y)}
		if err := sameShapes(name, x, y, out.Null, n); err != nil {
			return nil, err
		}
		p := newPairing(m, x, y)
		if t.DType == tensor.Int64 {
			dst, ok := array.Room[int64](w, n)
			if !ok {
				return nil, w.Err()
			}
			out.Data = dst
			if over := p.ints(w, dst, out.Null); over {
				return nil, errs.New(errs.Range, "%s: the result of a row does not fit int64; CAST(... AS DOUBLE) computes with floating point", name)
			}
		} else {
			if !w.Reserve(8 * int64(n)) {
				return nil, w.Err()
			}
			dst, twice := l.room(n)
			p.limit, p.twice = l, twice
			out.Data = dst
			p.floats(w, dst, out.Null)
		}
		return out.ZeroNulls(), nil
	}, x, y)
}

// packed converts whole numbers written in the query to bytes, if the other operand has bytes.
func packed(name string, x, y *array.Column) (*array.Column, *array.Column, error) {
	switch {
	case x.DType == tensor.Uint8 && y.Weak && !y.Float():
		data, bad := array.Convert(y.Data, tensor.Uint8)
		if bad >= 0 {
			return nil, nil, errs.New(errs.Range, "%s: %v does not fit uint8, of which the other vector is", name, y.Vector().At(bad))
		}
		out := *y
		out.DType, out.Data = tensor.Uint8, data
		return x, &out, nil
	case y.DType == tensor.Uint8 && x.Weak && !x.Float():
		y, x, err := packed(name, y, x)
		return x, y, err
	}
	return x, y, nil
}

func sameShapes(name string, x, y *array.Column, null []bool, n int) error {
	if x.Uniform() && y.Uniform() && x.Same.Equal(y.Same) {
		return nil
	}
	for i := range n {
		if null != nil && null[i] {
			continue
		}
		if a, b := x.ShapeAt(i), y.ShapeAt(i); !a.Equal(b) {
			return array.InRow(errs.Type, i, "%s of row %d: the shapes %s and %s differ", name, array.Here, a, b)
		}
	}
	return nil
}

// pairing measures the rows of two columns with known equal shapes.
type pairing struct {
	m     measure
	x, y  *array.Column
	limit *Limit // nil: every value is wanted
	// memory for two values a row, the wanted ones first; nil: none
	twice []float64
}

func newPairing(m measure, x, y *array.Column) *pairing {
	if x.Const {
		x, y = y, x
	}
	return &pairing{m: m, x: x, y: y}
}

func (p *pairing) floats(w *array.Work, dst []float64, null []bool) {
	if p.native(dst) {
		return
	}
	a, b := array.Lanes[float64](p.x.Data), hold(p.y, array.Lanes[float64](p.y.Data))
	var sa, sb []float64
	for i := range dst {
		if null != nil && null[i] {
			continue
		}
		lo, hi := p.x.Span(i)
		var one, two bool
		sa, one = array.Scratch(w, sa, hi-lo)
		if sb, two = array.Scratch(w, sb, hi-lo); !one || !two || !w.Step(rowSteps+3*(hi-lo)) {
			return
		}
		from, to := p.y.Span(i)
		dst[i] = measureFloats(p.m, a(lo, hi, sa), b(from, to, sb))
	}
}

func measureFloats(m measure, a, b []float64) float64 {
	b = b[:len(a)]
	s := 0.0
	switch m {
	case dot:
		for i, v := range a {
			s += v * b[i]
		}
	case cosine:
		var aa, bb float64
		for i, v := range a {
			s += v * b[i]
			aa += v * v
			bb += b[i] * b[i]
		}
		s /= math.Sqrt(aa) * math.Sqrt(bb)
	case l1Apart:
		for i, v := range a {
			s += math.Abs(v - b[i])
		}
	case l2Apart:
		for i, v := range a {
			s += (v - b[i]) * (v - b[i])
		}
		s = math.Sqrt(s)
	case linfApart:
		for i, v := range a {
			if d := math.Abs(v - b[i]); d > s || d != d {
				s = d
			}
			if s != s {
				break
			}
		}
	}
	return s
}

func (p *pairing) ints(w *array.Work, dst []int64, null []bool) (over bool) {
	if p.m == popcount && p.bits(dst, null) || p.m != popcount && p.nativeInts(dst) {
		return false
	}
	if !w.Reserve(8 * int64(p.x.Elements()+p.y.Elements())) {
		return false
	}
	if p.m == unequal && (p.x.Float() || p.y.Float()) {
		a, b := array.As[float64](p.x.Data), array.As[float64](p.y.Data)
		for i := range dst {
			lo, hi := p.x.Span(i)
			from, _ := p.y.Span(i)
			if !w.Step(rowSteps + hi - lo) {
				return false
			}
			if null == nil || !null[i] {
				dst[i] = different(a[lo:hi], b[from:])
			}
		}
		return false
	}
	a, b := array.As[int64](p.x.Data), array.As[int64](p.y.Data)
	for i := range dst {
		if null != nil && null[i] {
			continue
		}
		lo, hi := p.x.Span(i)
		from, to := p.y.Span(i)
		u, v := a[lo:hi], b[from:to]
		if !w.Step(rowSteps + 2*(hi-lo)) {
			return false
		}
		switch p.m {
		case unequal:
			dst[i] = different(u, v)
		case popcount:
			for j := range u {
				dst[i] += int64(bits.OnesCount64(uint64(u[j] ^ v[j])))
			}
		default:
			for j := range u {
				t := u[j] * v[j]
				s := dst[i] + t
				over = over || !timesFits(u[j], v[j]) || (dst[i]^s)&(t^s) < 0
				dst[i] = s
			}
		}
	}
	return over
}

func different[T array.Number](a, b []T) int64 {
	n := int64(0)
	for i, v := range a {
		if v != b[i] {
			n++
		}
	}
	return n
}

func maxsimType(args []array.Type) (array.Type, error) {
	if err := wantNumbers("MAXSIM", args); err != nil {
		return array.Type{}, err
	}
	for i, t := range args {
		if t.DType != 0 && t.Dims != 2 && t.Dims != array.Unranked {
			return array.Type{}, wrong("MAXSIM", i, t, "vectors: (number, dimensions)")
		}
	}
	a, b := args[0].Axes(), args[1].Axes()
	if args[0].DType != 0 && args[1].DType != 0 && a != nil && b != nil && a[1] != b[1] && a[1] >= 0 && b[1] >= 0 {
		return array.Type{}, errs.New(errs.Type, "MAXSIM of %s and %s: want vectors of one length", args[0], args[1])
	}
	return array.Of(tensor.Float64), nil
}

func maxsim(w *array.Work, args []*array.Column) (*array.Column, error) {
	t, err := maxsimType([]array.Type{args[0].Type, args[1].Type})
	if err != nil {
		return nil, err
	}
	if args[0].DType == 0 || args[1].DType == 0 {
		n, _ := array.RowsOf(args...)
		return array.Nothing(t, n), nil
	}
	return array.ForAll(func(c []*array.Column, n int) (*array.Column, error) {
		x, y := c[0], c[1]
		a, b := array.Lanes[float64](x.Data), hold(y, array.Lanes[float64](y.Data))
		out := &array.Column{Type: t, N: n, Same: tensor.Shape{}, Null: array.AnyNull(n, x, y)}
		dst, ok := array.Room[float64](w, n)
		if !ok {
			return nil, w.Err()
		}
		var sa, sb, products []float64
		for i := range n {
			if out.Null != nil && out.Null[i] {
				continue
			}
			s, u := x.ShapeAt(i), y.ShapeAt(i)
			if len(s) != 2 || len(u) != 2 || s[1] != u[1] {
				return nil, array.InRow(errs.Type, i, "MAXSIM of row %d: the shapes %s and %s are no vectors of one length", array.Here, s, u)
			}
			lo, hi := x.Span(i)
			from, to := y.Span(i)
			sa, _ = array.Scratch(w, sa, hi-lo)
			sb, _ = array.Scratch(w, sb, to-from)
			if products, ok = array.Scratch(w, products, 2*int(s[0])); !ok || !w.Step(rowSteps+hi-lo+to-from) {
				return nil, w.Err()
			}
			dst[i] = maxsimOf(w, a(lo, hi, sa), b(from, to, sb), int(s[1]), products)
		}
		out.Data = dst
		return out, nil
	}, args...)
}

func maxsimOf(w *array.Work, a, b []float64, d int, out []float64) float64 {
	if d == 0 || len(a) == 0 {
		return 0
	}
	sum := 0.0
	for len(b) > 0 && w.Step(rowSteps+len(a)) {
		if n := len(a) / d; measureNative(dot, tensor.Float64, tensor.Float64, pointer(a), pointer(b), 0, n, d, out, nil) {
			sum += slices.Max(out[:n])
			b = b[d:]
			continue
		}
		best := math.Inf(-1)
		for v := a; len(v) > 0; v = v[d:] {
			best = max(best, measureFloats(dot, v[:d], b[:d]))
		}
		sum += best
		b = b[d:]
	}
	return sum
}
