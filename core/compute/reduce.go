package compute

import (
	"bytes"
	"cmp"
	"math"
	"unsafe"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// reduce computes one value of the elements of each row; !ok is NULL.
func reduce[A, R array.Element](w *array.Work, d tensor.DType, x *array.Column, a array.Lane[A], f func(row []A) (R, bool)) *array.Column {
	t := array.Of(d)
	if x.DType == 0 {
		return array.Nothing(t, x.N)
	}
	out := &array.Column{Type: t, N: x.N, Const: x.Const, Same: tensor.Shape{}}
	dst, ok := array.Room[R](w, x.Stored())
	if !ok {
		return array.Nothing(t, x.N)
	}
	null := x.Null
	own := false
	var scratch []A
	for i := range dst {
		if x.Null != nil && x.Null[i] {
			continue
		}
		lo, hi := x.Span(i)
		if scratch, ok = array.Scratch(w, scratch, hi-lo); !ok || !w.Step(rowSteps+2*(hi-lo)) {
			break
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
	one := func(name, doc string, t func(x array.Type) array.Type, call func(w *array.Work, x *array.Column) (*array.Column, error)) Function {
		return Function{Name: name, Least: 1, Most: 2, Doc: name + "(x[, axis]): " + doc,
			Check: func(args []array.Type) (array.Type, error) {
				if err := wantNumbers(name, args[:1]); err != nil {
					return array.Type{}, err
				}
				return reducedType(t(args[0]), args)
			},
			Call: func(w *array.Work, args []*array.Column) (*array.Column, error) {
				return reduceAxis(w, name, args, call)
			}}
	}
	float := func(array.Type) array.Type { return array.Of(tensor.Float64) }
	boolean := func(array.Type) array.Type { return array.Of(tensor.Bool) }
	whole := func(array.Type) array.Type { return array.Of(tensor.Int64) }
	sum := func(x array.Type) array.Type {
		if x.Float() {
			return array.Of(tensor.Float64)
		}
		return array.Of(tensor.Int64)
	}
	own := func(x array.Type) array.Type {
		return array.Of(x.DType)
	}
	floats := func(f func(v []float64) (float64, bool)) func(w *array.Work, x *array.Column) (*array.Column, error) {
		return func(w *array.Work, x *array.Column) (*array.Column, error) {
			return reduce(w, tensor.Float64, x, array.Lanes[float64](x.Data), f), nil
		}
	}
	anyOf := func(want, empty bool) func(w *array.Work, x *array.Column) (*array.Column, error) {
		return func(w *array.Work, x *array.Column) (*array.Column, error) {
			if x.DType == 0 {
				return array.Nothing(array.Of(tensor.Bool), x.N), nil
			}
			b := truths(w, x)
			return reduce(w, tensor.Bool, b, array.Direct(array.Elems[bool](b)), func(v []bool) (bool, bool) {
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
		one("AMIN", "the least element of each row, NULL of nothing", own, func(w *array.Work, x *array.Column) (*array.Column, error) { return extremeRows(w, x, false), nil }),
		one("AMAX", "the greatest element of each row, NULL of nothing", own, func(w *array.Work, x *array.Column) (*array.Column, error) { return extremeRows(w, x, true), nil }),
		one("ARGMIN", "where the least element is, counted through the whole row", whole, func(w *array.Work, x *array.Column) (*array.Column, error) { return argRows(w, x, false), nil }),
		one("ARGMAX", "where the greatest element is, counted through the whole row", whole, func(w *array.Work, x *array.Column) (*array.Column, error) { return argRows(w, x, true), nil }),
		one("ANY", "whether an element is true", boolean, anyOf(true, false)).with(Facts{Infallible: always}),
		one("ALL", "whether all elements are true; of nothing: true", boolean, anyOf(false, true)).with(Facts{Infallible: always}),
		one("ALL_STRICT", "whether there are elements, and all are true", boolean, anyOf(false, false)),
		one("L1_NORM", "the sum of absolute values", float, func(w *array.Work, x *array.Column) (*array.Column, error) { return norm(w, x, l1), nil }).with(Facts{NoAlias: true, Infallible: always}),
		one("L2_NORM", "the length of the vector: the root of the sum of squares", float, func(w *array.Work, x *array.Column) (*array.Column, error) { return norm(w, x, l2), nil }).with(Facts{NoAlias: true, Infallible: always}),
		one("LINF_NORM", "the greatest absolute value, 0 of nothing", float, func(w *array.Work, x *array.Column) (*array.Column, error) { return norm(w, x, linf), nil }).with(Facts{NoAlias: true, Infallible: always}),
	}
}

// reducedType returns the type of a reduction along all axes, or along one.
func reducedType(t array.Type, args []array.Type) (array.Type, error) {
	if len(args) == 1 {
		return t, nil
	}
	if err := wantInts("axis", args, 1, 2); err != nil {
		return array.Type{}, err
	}
	x := args[0]
	if x.Dims == array.Unranked || x.DType == 0 {
		return t.WithAxes(nil), nil
	}
	if x.Dims == 0 {
		return array.Type{}, errs.New(errs.Type, "axis of %s: a scalar has none", x)
	}
	t.Dims, t.Shape = x.Dims-1, nil
	if t.Dims == 0 {
		t.Shape = tensor.Shape{}
	}
	return t, nil
}

// reduceAxis moves the axis to the end and reduces each line along it.
func reduceAxis(w *array.Work, name string, args []*array.Column, call func(w *array.Work, x *array.Column) (*array.Column, error)) (*array.Column, error) {
	x := args[0]
	if len(args) == 1 {
		return call(w, x)
	}
	t, err := reducedType(array.Of(tensor.Bool), []array.Type{x.Type, args[1].Type})
	if err != nil {
		return nil, err
	}
	if x.DType == 0 || args[1].DType == 0 {
		n, _ := array.RowsOf(args...)
		out, err := call(w, array.Nothing(x.Type, 1))
		if err != nil {
			return nil, err
		}
		return array.Nothing(array.Type{DType: out.DType}.WithAxes(t.Axes()), n), nil
	}
	return array.ForAll(func(c []*array.Column, n int) (*array.Column, error) {
		lines, shapes, err := linesAlong(w, name, c[0], ints(c[1]), c[1], n)
		if err != nil {
			return nil, err
		}
		out, err := call(w, lines)
		if err != nil {
			return nil, err
		}
		for _, null := range out.Null {
			if null {
				return nil, errs.New(errs.Type, "%s along an axis of nothing: there is no such element", name)
			}
		}
		return array.FromRows(array.Type{DType: out.DType}.WithAxes(t.Axes()), shapes, out.Data), nil
	}, x, args[1])
}

// lineBytes is the memory of a line's shape, with room to grow.
const lineBytes = 80

// linesAlong returns a column with the lines along an axis as rows, and the rows' shapes without
// that axis.
func linesAlong(w *array.Work, name string, x *array.Column, axis func(i int) int64, axes *array.Column, n int) (*array.Column, []tensor.Shape, error) {
	if !w.Reserve(shapeBytes * int64(n)) {
		return nil, nil, w.Err()
	}
	shapes := make([]tensor.Shape, n)
	x = x.ExpandIn(w)
	src := x.Vector()
	dst, ok := array.RoomOf(w, x.DType, x.Elements())
	if !ok {
		return nil, nil, w.Err()
	}
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
			return nil, nil, array.InRow(errs.Range, i, "%s: row %d of shape %s has no axis %d", name, array.Here, s, axis(i))
		}
		shapes[i] = append(append(tensor.Shape{}, s[:a]...), s[a+1:]...)
		size, inner := int(s[a]), array.SizeOf(s[a+1:])
		lo, _ := x.Span(i)
		for o := range array.SizeOf(s[:a]) {
			for in := range inner {
				if !w.Reserve(lineBytes) || !w.Step(rowSteps+4*size) {
					return nil, nil, w.Err()
				}
				for j := range size {
					from := lo + (o*size+j)*inner + in
					dst.Move(at, src, from, from+1)
					at++
				}
				lines = append(lines, tensor.Shape{int64(size)})
			}
		}
	}
	return array.FromRows(x.Type.Bare().WithAxes(tensor.Shape{-1}), lines, dst.Cut(0, at).Data()), shapes, nil
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

// small returns the sums of rows that cannot overflow int64; nil for other columns.
func small(w *array.Work, x *array.Column) *array.Column {
	switch d := x.Data.(type) {
	case []uint8:
		return smallOf(w, x, d)
	case []uint16:
		return smallOf(w, x, d)
	case []uint32:
		return smallOf(w, x, d)
	case []int8:
		return smallOf(w, x, d)
	case []int16:
		return smallOf(w, x, d)
	case []int32:
		return smallOf(w, x, d)
	}
	return nil
}

func smallOf[T array.Number](w *array.Work, x *array.Column, d []T) *array.Column {
	dtype := array.DTypeOf(d)
	return reduce(w, tensor.Int64, x, array.Direct(d), func(v []T) (int64, bool) {
		if whole, _, _, ok := SumNative(dtype, v); ok {
			return whole, true
		}
		s := int64(0)
		for _, e := range v {
			s += int64(e)
		}
		return s, true
	})
}

func meanRows(w *array.Work, x *array.Column) (*array.Column, error) {
	sums := small(w, x)
	if sums == nil {
		return reduce(w, tensor.Float64, x, array.Lanes[float64](x.Data), func(v []float64) (float64, bool) { return sumOf(v) / float64(len(v)), true }), nil
	}
	dst, ok := array.Room[float64](w, sums.Stored())
	if !ok {
		return nil, w.Err()
	}
	for i, s := range array.Elems[int64](sums) {
		if !x.IsNull(i) {
			lo, hi := x.Span(i)
			dst[i] = float64(s) / float64(hi-lo)
		}
	}
	sums.Type, sums.Data = array.Of(tensor.Float64), dst
	return sums, nil
}

func sumRows(w *array.Work, x *array.Column) (*array.Column, error) {
	if sums := small(w, x); sums != nil {
		return sums, nil
	}
	if x.Float() {
		return reduce(w, tensor.Float64, x, array.Lanes[float64](x.Data), func(v []float64) (float64, bool) { return sumOf(v), true }), nil
	}
	return foldInts(w, "SUM", x, 0, func(a, b int64) (int64, bool) { s := a + b; return s, (a^s)&(b^s) >= 0 })
}

func prodRows(w *array.Work, x *array.Column) (*array.Column, error) {
	if x.Float() {
		return reduce(w, tensor.Float64, x, array.Lanes[float64](x.Data), func(v []float64) (float64, bool) {
			p := 1.0
			for _, e := range v {
				p *= e
			}
			return p, true
		}), nil
	}
	return foldInts(w, "PROD", x, 1, func(a, b int64) (int64, bool) { return a * b, timesFits(a, b) })
}

func foldInts(w *array.Work, name string, x *array.Column, begin int64, f func(a, b int64) (int64, bool)) (*array.Column, error) {
	if err := fits64(name, x); err != nil {
		return nil, err
	}
	over := false
	out := reduce(w, tensor.Int64, x, array.Lanes[int64](x.Data), func(v []int64) (int64, bool) {
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

// extremeRows returns the least or greatest of each row; NaN wins, as in NumPy.
func extremeRows(w *array.Work, x *array.Column, most bool) *array.Column {
	switch d := x.Data.(type) {
	case []bool:
		out := extremeOf(w, tensor.Uint8, array.Retyped(x, x.Type), array.Lanes[uint8](d), most)
		out.DType = tensor.Bool
		if small, ok := out.Data.([]uint8); ok {
			out.Data, _ = array.Convert(small, tensor.Bool)
		}
		return out
	case []uint8:
		return extremeOf(w, x.DType, x, array.Direct(d), most)
	case []uint16:
		return extremeOf(w, x.DType, x, array.Direct(d), most)
	case []uint32:
		return extremeOf(w, x.DType, x, array.Direct(d), most)
	case []uint64:
		return extremeOf(w, x.DType, x, array.Direct(d), most)
	case []int8:
		return extremeOf(w, x.DType, x, array.Direct(d), most)
	case []int16:
		return extremeOf(w, x.DType, x, array.Direct(d), most)
	case []int32:
		return extremeOf(w, x.DType, x, array.Direct(d), most)
	case []int64:
		return extremeOf(w, x.DType, x, array.Direct(d), most)
	case []float32:
		return extremeOf(w, x.DType, x, array.Direct(d), most)
	case []float64:
		return extremeOf(w, x.DType, x, array.Direct(d), most)
	}
	return array.Nothing(array.Of(x.DType), x.N)
}

func extremeOf[T array.Number](w *array.Work, d tensor.DType, x *array.Column, a array.Lane[T], most bool) *array.Column {
	return reduce(w, d, x, a, func(v []T) (T, bool) {
		if best, ok := ExtremeNative(d, most, v); ok {
			return best, true
		}
		i := argOf(v, most)
		if i < 0 {
			return 0, false
		}
		return v[i], true
	})
}

// argOf returns the index of the first extreme; -1 of nothing.
func argOf[T array.Number](v []T, most bool) int {
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

func argRows(w *array.Work, x *array.Column, most bool) *array.Column {
	arg := func(i int) (int64, bool) { return int64(i), i >= 0 }
	switch {
	case x.Float():
		return reduce(w, tensor.Int64, x, array.Lanes[float64](x.Data), func(v []float64) (int64, bool) { return arg(argOf(v, most)) })
	case x.DType == tensor.Uint64:
		return reduce(w, tensor.Int64, x, array.Lanes[uint64](x.Data), func(v []uint64) (int64, bool) { return arg(argOf(v, most)) })
	}
	return reduce(w, tensor.Int64, x, array.Lanes[int64](x.Data), func(v []int64) (int64, bool) { return arg(argOf(v, most)) })
}

// Before reports whether a comes before b. NaN comes after all numbers.
func Before[T cmp.Ordered](a, b T) bool { return a < b || b != b && a == a }

// ExtremePlain returns the least or greatest, NaN above all.
func ExtremePlain[T cmp.Ordered](d []T, most bool) T {
	best := d[0]
	for _, v := range d {
		if most && Before(best, v) || !most && Before(v, best) {
			best = v
		}
	}
	return best
}
