package compute

import (
	"math"
	"math/bits"
	"slices"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

var arithNames = map[string]string{"+": "addition", "-": "subtraction", "*": "multiplication", "/": "division", "%": "remainder", "^": "power"}

// meeting returns the dtype in which two kinds of numbers are computed.
func meeting(op string, x, y array.Type) tensor.DType {
	whole := !x.Float() && !y.Float()
	switch {
	case op == "^":
		return tensor.Float64
	case whole && op != "/":
		return tensor.Int64
	case array.Narrow(x) && array.Narrow(y) && !(x.Weak && y.Weak):
		return tensor.Float32
	}
	return tensor.Float64
}

// ArithType returns the type of x op y, where op is one of + - * / % ^.
func ArithType(op string, x, y array.Type) (array.Type, error) {
	what, ok := arithNames[op]
	if !ok {
		return array.Type{}, errs.New(errs.Invalid, "no such operator: %q", op)
	}
	if x.Unit != array.None || y.Unit != array.None {
		return timeArith(op, x, y)
	}
	for _, t := range []array.Type{x, y} {
		if t.DType != 0 && !t.Number() {
			return array.Type{}, errs.New(errs.Type, "%s of %s and %s: want numbers%s", what, x, y, textHint(t))
		}
	}
	return array.BroadcastTypes(what, meeting(op, x, y), x, y)
}

func textHint(t array.Type) string {
	switch {
	case t.Text():
		return "; || joins texts, CAST(... AS DOUBLE) reads a number"
	case t.DType == tensor.JSON:
		return "; CAST(... AS DOUBLE) makes a number of it"
	}
	return ""
}

// Arith returns x op y. Whole numbers are computed in int64; a result beyond it is an error.
func Arith(w *array.Work, op string, x, y *array.Column) (*array.Column, error) {
	t, err := ArithType(op, x.Type, y.Type)
	if err != nil {
		return nil, err
	}
	if x.DType == 0 || y.DType == 0 {
		n, _ := array.RowsOf(x, y)
		return array.Nothing(t, n), nil
	}
	if t.Unit != array.None || x.Unit != array.None || y.Unit != array.None {
		return arithTime(w, op, t, x, y)
	}
	switch t.DType {
	case tensor.Int64:
		return arithInts(w, op, t, x, y)
	case tensor.Float32:
		return zip(w, arithNames[op], t, x, y, array.Lanes[float32](x.Data), array.Lanes[float32](y.Data), floatKernel[float32](op))
	}
	return zip(w, arithNames[op], t, x, y, array.Lanes[float64](x.Data), array.Lanes[float64](y.Data), floatKernel[float64](op))
}

// fits64 refuses values beyond int64.
func fits64(what string, cols ...*array.Column) error {
	for _, c := range cols {
		if d, ok := c.Data.([]uint64); ok {
			for _, v := range d {
				if v > math.MaxInt64 {
					return errs.New(errs.Range, "%s: %d does not fit int64; CAST(... AS DOUBLE) computes with floating point", what, v)
				}
			}
		}
	}
	return nil
}

func arithInts(w *array.Work, op string, t array.Type, x, y *array.Column) (*array.Column, error) {
	what := arithNames[op]
	if err := fits64(what, x, y); err != nil {
		return nil, err
	}
	a, b := array.Lanes[int64](x.Data), array.Lanes[int64](y.Data)
	var over error
	fail := func(p, q int64) {
		if over == nil {
			over = errs.New(errs.Range, "%s: %d %s %d does not fit int64; CAST(... AS DOUBLE) computes with floating point", what, p, op, q)
		}
	}
	var f kernel[int64, int64]
	switch op {
	case "+":
		f = func(dst, a, b []int64) {
			if bad := addInts(dst, a, b); bad {
				addSlow(dst, a, b, fail)
			}
		}
	case "-":
		f = func(dst, a, b []int64) {
			if bad := subInts(dst, a, b); bad {
				subSlow(dst, a, b, fail)
			}
		}
	case "*":
		f = func(dst, a, b []int64) { mulInts(dst, a, b, fail) }
	default:
		return remainder(w, t, x, y, a, b)
	}
	out, err := zip(w, what, t, x, y, a, b, f)
	if err == nil {
		err = over
	}
	return out, err
}

func at[T any](v []T, i int) T {
	if len(v) == 1 {
		return v[0]
	}
	return v[i]
}

func addInts(dst, a, b []int64) bool {
	bad := int64(0)
	if len(a) == 1 {
		a, b = b, a
	}
	if len(b) == 1 && len(a) == len(dst) {
		c := b[0]
		for i, v := range a {
			s := v + c
			bad |= (v ^ s) & (c ^ s)
			dst[i] = s
		}
		return bad < 0
	}
	a, b = a[:len(dst)], b[:len(dst)]
	for i, v := range a {
		s := v + b[i]
		bad |= (v ^ s) & (b[i] ^ s)
		dst[i] = s
	}
	return bad < 0
}

func addSlow(dst, a, b []int64, fail func(p, q int64)) {
	for i := range dst {
		p, q := at(a, i), at(b, i)
		if s := p + q; (p^s)&(q^s) < 0 {
			fail(p, q)
		}
	}
}

func subInts(dst, a, b []int64) bool {
	bad := int64(0)
	switch {
	case len(b) == 1 && len(a) == len(dst):
		c := b[0]
		for i, v := range a {
			s := v - c
			bad |= (v ^ c) & (v ^ s)
			dst[i] = s
		}
	case len(a) == 1:
		c := a[0]
		for i, v := range b[:len(dst)] {
			s := c - v
			bad |= (v ^ c) & (c ^ s)
			dst[i] = s
		}
	default:
		b = b[:len(a)]
		for i, v := range a {
			s := v - b[i]
			bad |= (v ^ b[i]) & (v ^ s)
			dst[i] = s
		}
	}
	return bad < 0
}

func subSlow(dst, a, b []int64, fail func(p, q int64)) {
	for i := range dst {
		p, q := at(a, i), at(b, i)
		if s := p - q; (p^q)&(p^s) < 0 {
			fail(p, q)
		}
	}
}

// mulInts looks first whether all factors are small, where nothing can go wrong.
func mulInts(dst, a, b []int64, fail func(p, q int64)) {
	large, left, right := uint64(0), a, b
	if len(a) == 1 {
		a, b = b, a
	}
	if len(b) == 1 && len(a) == len(dst) {
		c := b[0]
		large = uint64(c+1<<31) >> 32
		for i, v := range a {
			large |= uint64(v+1<<31) >> 32
			dst[i] = v * c
		}
	} else {
		b = b[:len(a)]
		for i, v := range a {
			large |= uint64(v+1<<31)>>32 | uint64(b[i]+1<<31)>>32
			dst[i] = v * b[i]
		}
	}
	if large == 0 {
		return
	}
	for i := range dst {
		p, q := at(left, i), at(right, i)
		if !timesFits(p, q) {
			fail(p, q)
		}
	}
}

func timesFits(p, q int64) bool {
	neg := (p < 0) != (q < 0)
	hi, lo := bits.Mul64(array.Magnitude(p), array.Magnitude(q))
	return hi == 0 && (lo <= math.MaxInt64 || neg && lo == 1<<63)
}

// remainder is as in C. By zero it is NULL for scalars and an error for arrays.
func remainder(w *array.Work, t array.Type, x, y *array.Column, a, b array.Lane[int64]) (*array.Column, error) {
	zero := false
	out, err := zip(w, "remainder", t, x, y, a, b, func(dst, a, b []int64) {
		for i := range dst {
			q := at(b, i)
			switch q {
			case 0:
				zero = true
			case -1: // the smallest number by it is a trap on some processors
				dst[i] = 0
			default:
				dst[i] = at(a, i) % q
			}
		}
	})
	if err != nil || !zero {
		return out, err
	}
	if !out.Uniform() || len(out.Same) > 0 {
		for i := range out.Stored() {
			lo, hi := y.Span(i)
			if !w.Step(rowSteps + 2*(hi-lo)) {
				break
			}
			for _, v := range b(lo, hi, make([]int64, hi-lo)) {
				if v == 0 && !out.IsNull(i) {
					return nil, array.InRow(errs.Invalid, i, "remainder: array of row %d by zero", array.Here)
				}
			}
		}
		return out, nil
	}
	null, ok := array.Room[bool](w, out.Stored())
	if !ok {
		return nil, w.Err()
	}
	copy(null, out.Null)
	for i := range null {
		j := y.StoredAt(i)
		null[i] = null[i] || b(j, j+1, make([]int64, 1))[0] == 0
	}
	out.Null = null
	return out, nil
}

func floatKernel[T float32 | float64](op string) kernel[T, T] {
	switch op {
	case "+":
		return func(dst, a, b []T) {
			if len(a) == 1 {
				a, b = b, a
			}
			if len(b) == 1 && len(a) == len(dst) {
				c := b[0]
				for i, v := range a {
					dst[i] = v + c
				}
				return
			}
			a, b = a[:len(dst)], b[:len(dst)]
			for i := range dst {
				dst[i] = a[i] + b[i]
			}
		}
	case "-":
		return subFloats[T]
	case "*":
		return func(dst, a, b []T) {
			if len(a) == 1 {
				a, b = b, a
			}
			if len(b) == 1 && len(a) == len(dst) {
				c := b[0]
				for i, v := range a {
					dst[i] = v * c
				}
				return
			}
			a, b = a[:len(dst)], b[:len(dst)]
			for i := range dst {
				dst[i] = a[i] * b[i]
			}
		}
	case "/":
		return divFloats[T]
	case "%":
		return func(dst, a, b []T) {
			for i := range dst {
				dst[i] = T(math.Mod(float64(at(a, i)), float64(at(b, i))))
			}
		}
	}
	return func(dst, a, b []T) {
		for i := range dst {
			dst[i] = T(math.Pow(float64(at(a, i)), float64(at(b, i))))
		}
	}
}

func subFloats[T float32 | float64](dst, a, b []T) {
	switch {
	case len(b) == 1 && len(a) == len(dst):
		c := b[0]
		for i, v := range a {
			dst[i] = v - c
		}
	case len(a) == 1:
		c := a[0]
		for i, v := range b[:len(dst)] {
			dst[i] = c - v
		}
	default:
		a, b = a[:len(dst)], b[:len(dst)]
		for i := range dst {
			dst[i] = a[i] - b[i]
		}
	}
}

func divFloats[T float32 | float64](dst, a, b []T) {
	switch {
	case len(b) == 1 && len(a) == len(dst):
		c := b[0]
		for i, v := range a {
			dst[i] = v / c
		}
	case len(a) == 1:
		c := a[0]
		for i, v := range b[:len(dst)] {
			dst[i] = c / v
		}
	default:
		a, b = a[:len(dst)], b[:len(dst)]
		for i := range dst {
			dst[i] = a[i] / b[i]
		}
	}
}

// NegType returns the type of -x.
func NegType(x array.Type) (array.Type, error) {
	if x.Unit == array.Interval {
		return x.Bare(), nil
	}
	t, err := ArithType("-", array.Type{DType: tensor.Int64, Weak: true, Shape: tensor.Shape{}}, x)
	t.Weak = x.Weak
	return t, err
}

// Neg is -x.
func Neg(w *array.Work, x *array.Column) (*array.Column, error) {
	t, err := NegType(x.Type)
	if err != nil {
		return nil, err
	}
	if t.DType == tensor.Int64 {
		zero := array.Constant(array.Type{DType: tensor.Int64, Weak: true, Unit: t.Unit, Shape: tensor.Shape{}}, int64(0), x.N)
		out, err := Arith(w, "-", zero, x)
		if err == nil {
			out.Type = t
		}
		return out, err
	}
	if t.DType == tensor.Float32 {
		return array.Map(w, t, x, array.Lanes[float32](x.Data), func(dst, a []float32) {
			for i, v := range a {
				dst[i] = -v
			}
		}), nil
	}
	return array.Map(w, t, x, array.Lanes[float64](x.Data), func(dst, a []float64) {
		for i, v := range a {
			dst[i] = -v
		}
	}), nil
}

var arithOperators = []operator{
	{"+", Facts{NoAlias: true, Infallible: withinInt64}},
	{"-", Facts{NoAlias: true, Infallible: withinInt64}},
	{"*", Facts{NoAlias: true, Infallible: withinInt64}},
	{"/", Facts{NoAlias: true, Infallible: fitting}},
	{"%", Facts{NoAlias: true, Infallible: func(args []Arg, t array.Type) bool {
		return t.Scalar() && (t.Float() || !slices.ContainsFunc(args, beyondInt64))
	}}},
	{"^", Facts{Infallible: fitting}},
	{"negative", Facts{NoAlias: true, Infallible: withinInt64}},
}

// withinInt64 is Infallible of sums and products.
func withinInt64(args []Arg, t array.Type) bool {
	return fitting(args, t) && (t.Float() || !slices.ContainsFunc(args, overflows))
}

// beyondInt64 reports whether values may not fit int64.
func beyondInt64(a Arg) bool { return a.Value == nil && a.DType == tensor.Uint64 }

// overflows reports whether a sum or product of two such numbers may not fit int64.
func overflows(a Arg) bool {
	if a.Value != nil && a.Scalar() {
		v, ok := a.Value.Value(0).(int64)
		return !ok || v != int64(int32(v))
	}
	return a.DType == tensor.Int64 || a.DType == tensor.Uint64 || a.DType == tensor.Uint32
}
