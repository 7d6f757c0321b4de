package array

import (
	"bytes"
	"math"
	"unsafe"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// reduce computes one value of the elements of each row; !ok is NULL.
func reduce[A, R element](d tensor.DType, x *Column, a lane[A], f func(row []A) (R, bool)) *Column {
	t := Of(d)
	if x.DType == 0 {
		return Nothing(t, x.N)
	}
	out := &Column{Type: t, N: x.N, Const: x.Const, Same: tensor.Shape{}}
	dst := make([]R, x.held())
	null := x.Null
	own := false
	var scratch []A
	for i := range dst {
		if x.Null != nil && x.Null[i] {
			continue
		}
		lo, hi := x.span(i)
		if hi-lo > len(scratch) {
			scratch = make([]A, max(hi-lo, block))
		}
		v, ok := f(a(lo, hi, scratch))
		if !ok {
			if !own {
				own = true
				null = make([]bool, len(dst))
				copy(null, x.Null)
			}
			null[i] = true
			continue
		}
		dst[i] = v
	}
	out.Data, out.Null = dst, null
	return out
}

func reduceFunctions() []Function {
	one := func(name, doc string, t func(x Type) Type, call func(x *Column) (*Column, error)) Function {
		return Function{Name: name, Least: 1, Most: 2, Doc: name + "(x[, axis]): " + doc,
			Check: func(args []Type) (Type, error) {
				if err := wantNumbers(name, args[:1]); err != nil {
					return Type{}, err
				}
				return reducedType(t(args[0]), args)
			},
			Call: func(args []*Column) (*Column, error) { return reduceAxis(name, args, call) }}
	}
	float := func(Type) Type { return Of(tensor.Float64) }
	boolean := func(Type) Type { return Of(tensor.Bool) }
	whole := func(Type) Type { return Of(tensor.Int64) }
	sum := func(x Type) Type {
		if x.Float() {
			return Of(tensor.Float64)
		}
		return Of(tensor.Int64)
	}
	own := func(x Type) Type {
		return Of(x.DType)
	}
	floats := func(f func(v []float64) (float64, bool)) func(x *Column) (*Column, error) {
		return func(x *Column) (*Column, error) {
			return reduce(tensor.Float64, x, lanes[float64](x.Data), f), nil
		}
	}
	anyOf := func(want, empty bool) func(x *Column) (*Column, error) {
		return func(x *Column) (*Column, error) {
			if x.DType == 0 {
				return Nothing(Of(tensor.Bool), x.N), nil
			}
			b := truths(x)
			return reduce(tensor.Bool, b, direct(elems[bool](b)), func(v []bool) (bool, bool) {
				if bytes.IndexByte(bytesOf(v), oneOf(want)) >= 0 {
					return want, true
				}
				return !want && (empty || len(v) > 0), true
			}), nil
		}
	}
	return []Function{
		one("SUM", "the sum of the elements of each row", sum, sumRows),
		one("PROD", "the product of the elements of each row", sum, prodRows),
		one("MEAN", "the mean of the elements of each row, NaN of nothing", float, meanRows),
		one("STD", "the standard deviation of all elements of each row (of the population)", float, floats(func(v []float64) (float64, bool) { return math.Sqrt(variance(v)), true })),
		one("VAR", "the variance of all elements of each row (of the population)", float, floats(func(v []float64) (float64, bool) { return variance(v), true })),
		one("AMIN", "the least element of each row, NULL of nothing", own, func(x *Column) (*Column, error) { return extremeRows(x, false), nil }),
		one("AMAX", "the greatest element of each row, NULL of nothing", own, func(x *Column) (*Column, error) { return extremeRows(x, true), nil }),
		one("ARGMIN", "where the least element is, counted through the whole row", whole, func(x *Column) (*Column, error) { return argRows(x, false), nil }),
		one("ARGMAX", "where the greatest element is, counted through the whole row", whole, func(x *Column) (*Column, error) { return argRows(x, true), nil }),
		one("ANY", "whether an element is true", boolean, anyOf(true, false)).with(Facts{Infallible: always}),
		one("ALL", "whether all elements are true; of nothing: true", boolean, anyOf(false, true)).with(Facts{Infallible: always}),
		one("ALL_STRICT", "whether there are elements, and all are true", boolean, anyOf(false, false)),
		one("L1_NORM", "the sum of absolute values", float, func(x *Column) (*Column, error) { return norm(x, l1), nil }).with(Facts{NoAlias: true, Infallible: always}),
		one("L2_NORM", "the length of the vector: the root of the sum of squares", float, func(x *Column) (*Column, error) { return norm(x, l2), nil }).with(Facts{NoAlias: true, Infallible: always}),
		one("LINF_NORM", "the greatest absolute value, 0 of nothing", float, func(x *Column) (*Column, error) { return norm(x, linf), nil }).with(Facts{NoAlias: true, Infallible: always}),
	}
}

// reducedType is the type of a reduction along all axes, or along one.
func reducedType(t Type, args []Type) (Type, error) {
	if len(args) == 1 {
		return t, nil
	}
	if err := wantInts("axis", args, 1, 2); err != nil {
		return Type{}, err
	}
	x := args[0]
	if x.Dims == Unranked || x.DType == 0 {
		return t.withAxes(nil), nil
	}
	if x.Dims == 0 {
		return Type{}, errs.New(errs.Type, "axis of %s: a scalar has none", x)
	}
	t.Dims, t.Shape = x.Dims-1, nil
	if t.Dims == 0 {
		t.Shape = tensor.Shape{}
	}
	return t, nil
}

// reduceAxis moves the axis to the end and reduces each line along it.
func reduceAxis(name string, args []*Column, call func(x *Column) (*Column, error)) (*Column, error) {
	x := args[0]
	if len(args) == 1 {
		return call(x)
	}
	t, err := reducedType(Of(tensor.Bool), []Type{x.Type, args[1].Type})
	if err != nil {
		return nil, err
	}
	if x.DType == 0 || args[1].DType == 0 {
		n, _ := rowsOf(args...)
		out, err := call(Nothing(x.Type, 1))
		if err != nil {
			return nil, err
		}
		return Nothing(Type{DType: out.DType}.withAxes(t.axes()), n), nil
	}
	return forAll(func(c []*Column, n int) (*Column, error) {
		lines, shapes, err := linesAlong(name, c[0], ints(c[1]), c[1], n)
		if err != nil {
			return nil, err
		}
		out, err := call(lines)
		if err != nil {
			return nil, err
		}
		for _, null := range out.Null {
			if null {
				return nil, errs.New(errs.Type, "%s along an axis of nothing: there is no such element", name)
			}
		}
		return FromRows(Type{DType: out.DType}.withAxes(t.axes()), shapes, out.Data), nil
	}, x, args[1])
}

// linesAlong is a column whose rows are the lines along an axis, and the shapes of the rows without
// it.
func linesAlong(name string, x *Column, axis func(i int) int64, axes *Column, n int) (*Column, []tensor.Shape, error) {
	shapes := make([]tensor.Shape, n)
	x = x.Expand()
	src := x.vector()
	dst := allocate(x.DType, x.total())
	var lines []tensor.Shape
	at := 0
	for i := range n {
		if x.IsNull(i) || axes.IsNull(i) {
			continue
		}
		s, a := x.ShapeAt(i), axis(i)
		if a < 0 {
			a += int64(len(s))
		}
		if a < 0 || a >= int64(len(s)) {
			return nil, nil, inRow(errs.Range, i, "%s: row %d of shape %s has no axis %d", name, here, s, axis(i))
		}
		shapes[i] = append(append(tensor.Shape{}, s[:a]...), s[a+1:]...)
		size, inner := int(s[a]), elements(s[a+1:])
		lo, _ := x.span(i)
		for o := range elements(s[:a]) {
			for in := range inner {
				for j := range size {
					from := lo + (o*size+j)*inner + in
					dst.move(at, src, from, from+1)
					at++
				}
				lines = append(lines, tensor.Shape{int64(size)})
			}
		}
	}
	return FromRows(x.Type.bare().withAxes(tensor.Shape{-1}), lines, dst.cut(0, at).data()), shapes, nil
}

func bytesOf(v []bool) []byte { return unsafe.Slice((*byte)(pointer(v)), len(v)) }

func oneOf(v bool) byte {
	if v {
		return 1
	}
	return 0
}

func sumOf(v []float64) float64 {
	var s [4]float64
	for len(v) >= 4 {
		s[0] += v[0]
		s[1] += v[1]
		s[2] += v[2]
		s[3] += v[3]
		v = v[4:]
	}
	for _, e := range v {
		s[0] += e
	}
	return s[0] + s[1] + (s[2] + s[3])
}

func variance(v []float64) float64 {
	mean := sumOf(v) / float64(len(v))
	n := float64(len(v))
	var s [4]float64
	for len(v) >= 4 {
		a, b, c, d := v[0]-mean, v[1]-mean, v[2]-mean, v[3]-mean
		s[0] += a * a
		s[1] += b * b
		s[2] += c * c
		s[3] += d * d
		v = v[4:]
	}
	for _, e := range v {
		s[0] += (e - mean) * (e - mean)
	}
	return (s[0] + s[1] + (s[2] + s[3])) / n
}

// small is the sums of rows of numbers of which no row can have too many for int64; nil of others.
func small(x *Column) *Column {
	switch d := x.Data.(type) {
	case []uint8:
		return smallOf(x, d)
	case []uint16:
		return smallOf(x, d)
	case []uint32:
		return smallOf(x, d)
	case []int8:
		return smallOf(x, d)
	case []int16:
		return smallOf(x, d)
	case []int32:
		return smallOf(x, d)
	}
	return nil
}

func smallOf[T number](x *Column, d []T) *Column {
	dtype := dtypeOf(d)
	return reduce(tensor.Int64, x, direct(d), func(v []T) (int64, bool) {
		if whole, _, _, ok := sumNative(dtype, v); ok {
			return whole, true
		}
		s := int64(0)
		for _, e := range v {
			s += int64(e)
		}
		return s, true
	})
}

func meanRows(x *Column) (*Column, error) {
	sums := small(x)
	if sums == nil {
		return reduce(tensor.Float64, x, lanes[float64](x.Data), func(v []float64) (float64, bool) { return sumOf(v) / float64(len(v)), true }), nil
	}
	dst := make([]float64, sums.held())
	for i, s := range elems[int64](sums) {
		if !x.IsNull(i) {
			lo, hi := x.span(i)
			dst[i] = float64(s) / float64(hi-lo)
		}
	}
	sums.Type, sums.Data = Of(tensor.Float64), dst
	return sums, nil
}

func sumRows(x *Column) (*Column, error) {
	if sums := small(x); sums != nil {
		return sums, nil
	}
	if x.Float() {
		return reduce(tensor.Float64, x, lanes[float64](x.Data), func(v []float64) (float64, bool) { return sumOf(v), true }), nil
	}
	return foldInts("SUM", x, 0, func(a, b int64) (int64, bool) { s := a + b; return s, (a^s)&(b^s) >= 0 })
}

func prodRows(x *Column) (*Column, error) {
	if x.Float() {
		return reduce(tensor.Float64, x, lanes[float64](x.Data), func(v []float64) (float64, bool) {
			p := 1.0
			for _, e := range v {
				p *= e
			}
			return p, true
		}), nil
	}
	return foldInts("PROD", x, 1, func(a, b int64) (int64, bool) { return a * b, timesFits(a, b) })
}

func foldInts(name string, x *Column, begin int64, f func(a, b int64) (int64, bool)) (*Column, error) {
	if err := fits64(name, x); err != nil {
		return nil, err
	}
	over := false
	out := reduce(tensor.Int64, x, lanes[int64](x.Data), func(v []int64) (int64, bool) {
		s := begin
		for _, e := range v {
			t, fits := f(s, e)
			over = over || !fits
			s = t
		}
		return s, true
	})
	if over {
		return nil, errs.New(errs.Range, "%s: the result of a row does not fit int64; CAST(... AS DOUBLE) computes with floating point", name)
	}
	return out, nil
}

// extremeRows is the least or greatest of each row; NaN wins, as in NumPy.
func extremeRows(x *Column, most bool) *Column {
	switch d := x.Data.(type) {
	case []bool:
		out := extremeOf(tensor.Uint8, retyped(x, x.Type), lanes[uint8](d), most)
		out.DType = tensor.Bool
		if small, ok := out.Data.([]uint8); ok {
			out.Data, _ = convert(small, tensor.Bool)
		}
		return out
	case []uint8:
		return extremeOf(x.DType, x, direct(d), most)
	case []uint16:
		return extremeOf(x.DType, x, direct(d), most)
	case []uint32:
		return extremeOf(x.DType, x, direct(d), most)
	case []uint64:
		return extremeOf(x.DType, x, direct(d), most)
	case []int8:
		return extremeOf(x.DType, x, direct(d), most)
	case []int16:
		return extremeOf(x.DType, x, direct(d), most)
	case []int32:
		return extremeOf(x.DType, x, direct(d), most)
	case []int64:
		return extremeOf(x.DType, x, direct(d), most)
	case []float32:
		return extremeOf(x.DType, x, direct(d), most)
	case []float64:
		return extremeOf(x.DType, x, direct(d), most)
	}
	return Nothing(Of(x.DType), x.N)
}

func extremeOf[T number](d tensor.DType, x *Column, a lane[T], most bool) *Column {
	return reduce(d, x, a, func(v []T) (T, bool) {
		if best, ok := extremeNative(d, most, v); ok {
			return best, true
		}
		i := argOf(v, most)
		if i < 0 {
			return 0, false
		}
		return v[i], true
	})
}

// argOf is where the first extreme is, -1 of nothing.
func argOf[T number](v []T, most bool) int {
	if len(v) == 0 {
		return -1
	}
	at, best := 0, v[0]
	for i, e := range v {
		if best != best {
			break
		}
		if e != e || most && e > best || !most && e < best {
			at, best = i, e
		}
	}
	return at
}

func argRows(x *Column, most bool) *Column {
	arg := func(i int) (int64, bool) { return int64(i), i >= 0 }
	switch {
	case x.Float():
		return reduce(tensor.Int64, x, lanes[float64](x.Data), func(v []float64) (int64, bool) { return arg(argOf(v, most)) })
	case x.DType == tensor.Uint64:
		return reduce(tensor.Int64, x, lanes[uint64](x.Data), func(v []uint64) (int64, bool) { return arg(argOf(v, most)) })
	}
	return reduce(tensor.Int64, x, lanes[int64](x.Data), func(v []int64) (int64, bool) { return arg(argOf(v, most)) })
}
