package compute

import (
	"cmp"
	"math"
	"math/bits"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// floating returns the float type of results: arrays of float32 stay float32, as in NumPy, single
// numbers do not, as in SQL.
func floating(x array.Type) array.Type {
	if x.Dims == 0 {
		t := x.WithDType(tensor.Float64)
		t.Weak = x.Weak
		return t
	}
	return rounded(x)
}

// rounded returns the float type of a result that float32 holds as well as its argument.
func rounded(x array.Type) array.Type {
	d := tensor.Float64
	if x.DType == tensor.Float32 {
		d = tensor.Float32
	}
	t := x.WithDType(d)
	t.Weak = x.Weak
	return t
}

func mathFunctions() []Function {
	out := []Function{
		{Name: "ABS", Least: 1, Most: 1, Doc: "ABS(x): the absolute value of each number", Check: keepNumber("ABS"), Call: absolute},
		{Name: "SIGN", Least: 1, Most: 1, Doc: "SIGN(x): -1, 0 or 1 of each number", Check: keepNumber("SIGN"),
			Call: keeping("SIGN", func(v int64) int64 { return int64(cmp.Compare(v, 0)) }, func(v float64) float64 {
				if v != v {
					return v
				}
				return float64(array.CompareFloat(v, 0))
			})},
		{Name: "FLOOR", Least: 1, Most: 1, Doc: "FLOOR(x): the greatest whole number that is not above", Check: keepNumber("FLOOR"),
			Call: keeping("FLOOR", same[int64], math.Floor)},
		{Name: "CEIL", Least: 1, Most: 1, Doc: "CEIL(x): the least whole number that is not below", Check: keepNumber("CEIL"),
			Call: keeping("CEIL", same[int64], math.Ceil)},
		{Name: "TRUNC", Least: 1, Most: 1, Doc: "TRUNC(x): without what follows the point", Check: keepNumber("TRUNC"),
			Call: keeping("TRUNC", same[int64], math.Trunc)},
		{Name: "ROUND", Least: 1, Most: 2, Doc: "ROUND(x[, digits]): scalars half away from zero, arrays half to even", Check: roundType, Call: round},
		{Name: "POW", Least: 2, Most: 2, Doc: "POW(x, y): x to the power of y", Check: binaryCheck("^"), Call: binaryCall("^")},
		{Name: "MOD", Least: 2, Most: 2, Doc: "MOD(x, y): x % y", Check: binaryCheck("%"), Call: binaryCall("%")},
		{Name: "ATAN2", Least: 2, Most: 2, Doc: "ATAN2(y, x): the angle of the point (x, y)", Check: floats2("ATAN2"), Call: callFloats2("ATAN2", math.Atan2)},
		{Name: "PI", Doc: "PI(): 3.14159...", Check: func([]array.Type) (array.Type, error) { return array.Of(tensor.Float64), nil },
			Call: func(*array.Work, []*array.Column) (*array.Column, error) {
				return array.Constant(array.Of(tensor.Float64), math.Pi, 1), nil
			}},
	}
	for _, f := range []struct {
		name, doc string
		f         func(float64) float64
	}{
		{"SQRT", "the square root", math.Sqrt}, {"CBRT", "the cube root", math.Cbrt}, {"EXP", "e to the power of x", math.Exp},
		{"LN", "the natural logarithm", math.Log}, {"LOG", "the logarithm of base 10, as in SQL; LN is the natural one", math.Log10},
		{"LOG10", "the logarithm of base 10", math.Log10}, {"LOG2", "the logarithm of base 2", math.Log2},
		{"SIN", "the sine", math.Sin}, {"COS", "the cosine", math.Cos}, {"TAN", "the tangent", math.Tan}, {"ASIN", "the angle of a sine", math.Asin},
		{"ACOS", "the angle of a cosine", math.Acos}, {"ATAN", "the angle of a tangent", math.Atan}, {"SINH", "the hyperbolic sine", math.Sinh},
		{"COSH", "the hyperbolic cosine", math.Cosh}, {"TANH", "the hyperbolic tangent", math.Tanh},
		{"DEGREES", "radians as degrees", func(v float64) float64 { return v * 180 / math.Pi }},
		{"RADIANS", "degrees as radians", func(v float64) float64 { return v * math.Pi / 180 }},
	} {
		out = append(out, Function{Name: f.name, Least: 1, Most: 1, Doc: f.name + "(x): " + f.doc, Check: floatCheck(f.name), Call: callFloat(f.f, floating),
			Facts: Facts{Infallible: always}})
	}
	for _, f := range []struct {
		name, doc string
		f         func(float64) bool
	}{
		{"ISNAN", "whether it is NaN", func(v float64) bool { return v != v }},
		{"ISINF", "whether it is infinite", func(v float64) bool { return math.IsInf(v, 0) }},
		{"ISFINITE", "whether it is neither NaN nor infinite", func(v float64) bool { return v-v == 0 }},
	} {
		out = append(out, Function{Name: f.name, Least: 1, Most: 1, Doc: f.name + "(x): " + f.doc,
			Check: func(args []array.Type) (array.Type, error) {
				return args[0].WithDType(tensor.Bool), wantNumbers(f.name, args)
			},
			Call: func(w *array.Work, args []*array.Column) (*array.Column, error) {
				return array.Map(w, args[0].Type.WithDType(tensor.Bool), args[0], array.Lanes[float64](args[0].Data), func(dst []bool, a []float64) {
					for i, v := range a {
						dst[i] = f.f(v)
					}
				}), nil
			}, Facts: Facts{Infallible: always}})
	}
	return out
}

func same[T any](v T) T { return v }

func floatCheck(name string) func([]array.Type) (array.Type, error) {
	return func(args []array.Type) (array.Type, error) { return floating(args[0]), wantNumbers(name, args) }
}

func callFloat(f func(float64) float64, typeOf func(array.Type) array.Type) func(*array.Work, []*array.Column) (*array.Column, error) {
	return func(w *array.Work, args []*array.Column) (*array.Column, error) {
		x := args[0]
		t := typeOf(x.Type)
		if t.DType == tensor.Float32 {
			return array.Map(w, t, x, array.Lanes[float32](x.Data), func(dst, a []float32) {
				for i, v := range a {
					dst[i] = float32(f(float64(v)))
				}
			}), nil
		}
		return array.Map(w, t, x, array.Lanes[float64](x.Data), func(dst, a []float64) {
			for i, v := range a {
				dst[i] = f(v)
			}
		}), nil
	}
}

func floats2(name string) func([]array.Type) (array.Type, error) {
	return func(args []array.Type) (array.Type, error) {
		if err := wantNumbers(name, args); err != nil {
			return array.Type{}, err
		}
		return array.BroadcastTypes(name, tensor.Float64, args[0], args[1])
	}
}

func callFloats2(name string, f func(a, b float64) float64) func(*array.Work, []*array.Column) (*array.Column, error) {
	return func(w *array.Work, args []*array.Column) (*array.Column, error) {
		t, err := floats2(name)([]array.Type{args[0].Type, args[1].Type})
		if err != nil {
			return nil, err
		}
		return zip(w, name, t, args[0], args[1], array.Lanes[float64](args[0].Data), array.Lanes[float64](args[1].Data), func(dst, a, b []float64) {
			for i := range dst {
				dst[i] = f(at(a, i), at(b, i))
			}
		})
	}
}

func binaryCheck(op string) func([]array.Type) (array.Type, error) {
	return func(args []array.Type) (array.Type, error) { return ArithType(op, args[0], args[1]) }
}

func binaryCall(op string) func(*array.Work, []*array.Column) (*array.Column, error) {
	return func(w *array.Work, args []*array.Column) (*array.Column, error) {
		return Arith(w, op, args[0], args[1])
	}
}

// keepNumber returns a Check of functions that return whole numbers for whole numbers.
func keepNumber(name string) func([]array.Type) (array.Type, error) {
	return func(args []array.Type) (array.Type, error) {
		return kept(args[0]), wantNumbers(name, args[:1])
	}
}

func kept(x array.Type) array.Type {
	if x.Float() {
		return rounded(x)
	}
	t := x.WithDType(tensor.Int64)
	t.Weak = x.Weak
	return t
}

func keeping(name string, whole func(int64) int64, f func(float64) float64) func(*array.Work, []*array.Column) (*array.Column, error) {
	return func(w *array.Work, args []*array.Column) (*array.Column, error) {
		x := args[0]
		if x.Float() {
			return callFloat(f, rounded)(w, args)
		}
		if err := fits64(name, x); err != nil {
			return nil, err
		}
		return array.Map(w, kept(x.Type), x, array.Lanes[int64](x.Data), func(dst, a []int64) {
			for i, v := range a {
				dst[i] = whole(v)
			}
		}), nil
	}
}

func absolute(w *array.Work, args []*array.Column) (*array.Column, error) {
	over := false
	out, err := keeping("ABS", func(v int64) int64 {
		if v < 0 {
			over = over || v == math.MinInt64
			return -v
		}
		return v
	}, math.Abs)(w, args)
	if over {
		return nil, errs.New(errs.Range, "ABS: -9223372036854775808 has no absolute value in int64")
	}
	return out, err
}

func roundType(args []array.Type) (array.Type, error) {
	if err := wantNumbers("ROUND", args[:1]); err != nil {
		return array.Type{}, err
	}
	return kept(args[0]), wantInts("ROUND", args, 1, 2)
}

func round(w *array.Work, args []*array.Column) (*array.Column, error) {
	x := args[0]
	f := math.Round
	if x.Dims != 0 {
		f = math.RoundToEven
	}
	if len(args) == 1 {
		return keeping("ROUND", same[int64], f)(w, args)
	}
	digits, err := array.Become(w, args[1], array.Of(tensor.Int64))
	if err != nil {
		return nil, err
	}
	t := kept(x.Type)
	if !x.Float() {
		return roundInts(w, t, x, digits)
	}
	places := func(v float64, digits int64) float64 {
		scale := math.Pow(10, float64(min(max(digits, -400), 400)))
		if out := f(v*scale) / scale; out-out == 0 {
			return out
		}
		if digits < 0 {
			return 0
		}
		return v
	}
	out, err := zip(w, "ROUND", x.Type.WithDType(tensor.Float64).WithAxes(t.Axes()), x, digits, array.Lanes[float64](x.Data), array.Lanes[float64](digits.Data), func(dst, a, b []float64) {
		for i := range dst {
			dst[i] = places(at(a, i), int64(at(b, i)))
		}
	})
	if err != nil {
		return nil, err
	}
	if t.DType != tensor.Float64 {
		if out, err = array.Cast(w, out, t); err != nil {
			return nil, err
		}
	}
	out.Type = t
	return out, nil
}

// roundInts rounds whole numbers, without a detour through floating point.
func roundInts(w *array.Work, t array.Type, x, digits *array.Column) (*array.Column, error) {
	if err := fits64("ROUND", x); err != nil {
		return nil, err
	}
	even := x.Dims != 0
	var over error
	out, err := zip(w, "ROUND", t, x, digits, array.Lanes[int64](x.Data), array.Lanes[int64](digits.Data), func(dst, a, b []int64) {
		for i := range dst {
			v, ok := roundInt(at(a, i), at(b, i), even)
			if dst[i] = v; !ok && over == nil {
				over = errs.New(errs.Range, "ROUND: %d to %d digits does not fit int64; CAST(... AS DOUBLE) computes with floating point", at(a, i), at(b, i))
			}
		}
	})
	if err == nil {
		err = over
	}
	return out, err
}

// roundInt rounds to a multiple of 10^-digits: halves away from zero, or to an even multiple.
func roundInt(v, digits int64, even bool) (int64, bool) {
	switch {
	case digits >= 0:
		return v, true
	case digits < -19:
		return 0, true
	}
	scale := uint64(1)
	for range -digits {
		scale *= 10
	}
	size := array.Magnitude(v)
	times, rest := size/scale, size%scale
	if up := scale - rest; rest > up || rest == up && (!even || times%2 == 1) {
		times++
	}
	high, low := bits.Mul64(times, scale)
	switch {
	case high == 0 && low <= math.MaxInt64 && v >= 0:
		return int64(low), true
	case high == 0 && low <= 1<<63 && v < 0:
		return -int64(low), true
	}
	return 0, false
}
