package array

import (
	"math"
	"strconv"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Convert makes numbers or bools of numbers or bools. bad is the first that does not fit, -1 for
// none.
func Convert(data any, d tensor.DType) (out any, bad int) {
	if DTypeOf(data) == d {
		return data, -1
	}
	switch v := data.(type) {
	case nil:
		return NewVector(d, 0).Data(), -1
	case []bool:
		small := make([]uint8, len(v))
		for i, b := range v {
			if b {
				small[i] = 1
			}
		}
		return convertFrom(small, d)
	case []uint8:
		return convertFrom(v, d)
	case []uint16:
		return convertFrom(v, d)
	case []uint32:
		return convertFrom(v, d)
	case []uint64:
		return convertFrom(v, d)
	case []int8:
		return convertFrom(v, d)
	case []int16:
		return convertFrom(v, d)
	case []int32:
		return convertFrom(v, d)
	case []int64:
		return convertFrom(v, d)
	case []float32:
		return convertFrom(v, d)
	case []float64:
		return convertFrom(v, d)
	}
	return nil, 0
}

func convertFrom[S Number](v []S, d tensor.DType) (any, int) {
	switch d {
	case tensor.Bool:
		out := make([]bool, len(v))
		for i, x := range v {
			out[i] = x != 0
		}
		return out, -1
	case tensor.Uint8:
		return convertTo[uint8](v, 0, math.MaxUint8)
	case tensor.Uint16:
		return convertTo[uint16](v, 0, math.MaxUint16)
	case tensor.Uint32:
		return convertTo[uint32](v, 0, math.MaxUint32)
	case tensor.Uint64:
		return convertTo[uint64](v, 0, math.MaxUint64)
	case tensor.Int8:
		return convertTo[int8](v, math.MinInt8, math.MaxInt8)
	case tensor.Int16:
		return convertTo[int16](v, math.MinInt16, math.MaxInt16)
	case tensor.Int32:
		return convertTo[int32](v, math.MinInt32, math.MaxInt32)
	case tensor.Int64:
		return convertTo[int64](v, math.MinInt64, math.MaxInt64)
	case tensor.Float32:
		return convertTo[float32](v, math.Inf(-1), math.Inf(1))
	case tensor.Float64:
		return convertTo[float64](v, math.Inf(-1), math.Inf(1))
	}
	return nil, 0
}

func isFloat[T Number]() bool {
	var one T = 1
	return one/2 != 0
}

// convertTo rounds to whole numbers, half to even, as DuckDB does.
func convertTo[T, S Number](v []S, least, most float64) (any, int) {
	out := make([]T, len(v))
	bad := -1
	switch {
	case isFloat[T]():
		for i, x := range v {
			out[i] = T(x)
			if math.IsInf(float64(out[i]), 0) && !math.IsInf(float64(x), 0) && bad < 0 {
				bad = i
			}
		}
	case isFloat[S]():
		for i, x := range v {
			f := math.RoundToEven(float64(x))
			// the greatest int64 and uint64 are no float64: the next above is
			if !(f >= least && (f < most || f == most && most < 1<<62)) {
				if bad < 0 {
					bad = i
				}
				continue
			}
			out[i] = T(f)
		}
	default:
		for i, x := range v {
			out[i] = T(x)
			if S(out[i]) != x || (out[i] < 0) != (x < 0) {
				if bad < 0 {
					bad = i
				}
			}
		}
	}
	return out, bad
}

// typeNames returns the names that CAST accepts: the names of NumPy and of SQL.
func typeNames() map[string]Type {
	m := map[string]Type{}
	for _, d := range []tensor.DType{tensor.Bool, tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64, tensor.Int8, tensor.Int16,
		tensor.Int32, tensor.Int64, tensor.Float32, tensor.Float64, tensor.String, tensor.JSON} {
		m[d.String()] = Of(d)
	}
	for name, d := range map[string]tensor.DType{"boolean": tensor.Bool, "tinyint": tensor.Int8, "smallint": tensor.Int16, "int": tensor.Int32,
		"integer": tensor.Int32, "bigint": tensor.Int64, "utinyint": tensor.Uint8, "usmallint": tensor.Uint16, "uinteger": tensor.Uint32,
		"ubigint": tensor.Uint64, "real": tensor.Float32, "float": tensor.Float32, "double": tensor.Float64, "float16": tensor.Float32,
		"varchar": tensor.String, "text": tensor.String, "long": tensor.Int64} {
		m[name] = Of(d)
	}
	m["date"], m["timestamp"], m["datetime"], m["interval"] = OfUnit(Date), OfUnit(Timestamp), OfUnit(Timestamp), OfUnit(Interval)
	return m
}

// CastType returns the type of CAST(x AS to).
func CastType(x Type, to string) (Type, error) {
	names := typeNames()
	t, ok := names[strings.ToLower(to)]
	if !ok {
		list := make([]string, 0, len(names))
		for n := range names {
			list = append(list, n)
		}
		return Type{}, errs.New(errs.NotFound, "there is no type %q%s", to, errs.Suggest(to, list))
	}
	t.Dims, t.Shape = x.Dims, x.Shape
	if err := RefuseLists("CAST", x); err != nil {
		return Type{}, err
	}
	if err := castable(x, t); err != nil {
		return Type{}, err
	}
	return t, nil
}

func castable(x, t Type) error {
	ok := true
	switch {
	case x.DType == 0, t.Text() && x.DType != tensor.Bytes:
	case x.Text():
		ok = t.DType != tensor.JSON || x.Scalar()
	case t.DType == tensor.JSON:
		ok = x.DType == tensor.JSON || x.Scalar() && x.DType != tensor.Bytes
	case x.DType == tensor.JSON:
	case t.Unit != None:
		ok = x.Unit == t.Unit || x.Unit == Date && t.Unit == Timestamp || x.Unit == Timestamp && t.Unit == Date
	case x.Unit != None, x.DType == tensor.Bytes:
		ok = false
	}
	if (t.Text() || t.DType == tensor.JSON) && !x.Scalar() && !x.Text() && x.DType != 0 && !x.Label() && x.DType != tensor.JSON {
		ok = false
	}
	if !ok {
		return errs.New(errs.Type, "CAST of %s: it cannot become %s", x, t)
	}
	return nil
}

// Cast is CAST(x AS to), of a type that CastType gave. A value that does not fit is an error that
// names it.
func Cast(w *Work, x *Column, to Type) (*Column, error) {
	t := to
	t.Dims, t.Shape, t.List = x.Dims, x.Shape, false
	if err := castable(x.Type, t); err != nil {
		return nil, err
	}
	switch {
	case x.DType == 0:
		return Nothing(t, x.N), nil
	case x.DType == t.DType && x.Unit == t.Unit:
		return Retyped(x, t), nil
	case t.Text():
		return castText(w, x, t), nil
	case t.DType == tensor.JSON:
		return castJSON(w, x, t), nil
	case x.DType == tensor.JSON:
		return fromJSON(w, x, t)
	case x.Text():
		return parseTexts(w, x, t)
	case x.Unit == Date && t.Unit == Timestamp:
		out, err := ToMicros(w, x)
		if err != nil {
			return nil, err
		}
		return Retyped(out, t), nil
	case x.Unit == Timestamp && t.Unit == Date:
		return Map(w, t, x, Lanes[int64](x.Data), func(dst, a []int64) {
			for i, v := range a {
				dst[i] = FloorDiv(v, MicrosPerDay)
			}
		}), nil
	}
	elements := x.Elements()
	if !w.Reserve(int64(elements)*elementSize(t.DType)) || !w.Step(elements) {
		return nil, w.Err()
	}
	data, bad := Convert(x.Data, t.DType)
	if bad >= 0 {
		for i := range x.Stored() {
			if lo, hi := x.Span(i); !x.IsNull(i) && lo < hi {
				if _, bad := Convert(x.Vector().Cut(lo, hi).Data(), t.DType); bad >= 0 {
					return nil, InRow(errs.Range, i, "CAST: %v of row %d does not fit %s", x.Vector().At(lo+bad), Here, t.DType)
				}
			}
		}
	}
	out := *x
	out.Type, out.Data = t, data
	return &out, nil
}

// Retyped returns the values of c under another type with the same elements.
func Retyped(c *Column, t Type) *Column {
	out := *c
	out.Type = t
	return &out
}

func castText(w *Work, x *Column, t Type) *Column {
	switch {
	case x.Label():
		return Retyped(LabelText(w, x), t)
	case x.DType == tensor.JSON:
		return JSONTexts(w, x, t)
	}
	format := formatter(x)
	src := x.Vector()
	out := *x
	out.Type = t
	dst, ok := Room[string](w, src.Len())
	if !ok || !w.Reserve(int64(src.Len())*numberText) {
		return Nothing(t, x.N)
	}
	for i := range dst {
		if i%Block == 0 && !w.Step(Block*numberText) {
			break
		}
		dst[i] = format(i)
	}
	out.Data = dst
	return out.ZeroNulls()
}

// JSONTexts returns documents as texts of type t: strings without their quotes.
func JSONTexts(w *Work, x *Column, t Type) *Column {
	// A decoded string is no longer than its document.
	if !w.Reserve(x.TextBytes()) {
		return Nothing(t, x.N)
	}
	return MapText(w, Retyped(x, t), t, JSONText)
}

// numberText is the memory of a number as text, at most: a small allocation.
const numberText = 32

// formatter writes an element as text, as DuckDB does.
func formatter(x *Column) func(i int) string {
	switch d := x.Data.(type) {
	case []float32:
		return func(i int) string { return formatFloat(float64(d[i]), 32) }
	case []float64:
		return func(i int) string { return formatFloat(d[i], 64) }
	case []int64:
		switch x.Unit {
		case None:
		default:
			u := x.Unit
			return func(i int) string { return FormatTime(u, d[i]) }
		}
	case []uint64:
		return func(i int) string { return strconv.FormatUint(d[i], 10) }
	case []bool:
		return func(i int) string { return strconv.FormatBool(d[i]) }
	case []string:
		return func(i int) string { return d[i] }
	}
	d := As[int64](x.Data)
	return func(i int) string { return strconv.FormatInt(d[i], 10) }
}

func formatFloat(v float64, bits int) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(v, 'e', -1, bits)
	}
	s := strconv.FormatFloat(v, 'f', -1, bits)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// MapText maps text to text. f reports whether there is a result.
func MapText(w *Work, x *Column, t Type, f func(string) (string, bool)) *Column {
	src := Elems[string](x)
	out := *x
	out.Type = t
	dst, ok := Room[string](w, len(src))
	if !ok {
		return Nothing(t, x.N)
	}
	var null []bool
	for i, s := range src {
		if !w.Step(1 + len(s)) {
			break
		}
		if x.Uniform() && len(x.Same) == 0 && x.Null != nil && x.Null[i] {
			continue
		}
		v, ok := f(s)
		if !ok && x.Uniform() && len(x.Same) == 0 {
			if null == nil {
				null = make([]bool, len(src))
				copy(null, x.Null)
			}
			null[i] = true
		}
		dst[i] = v
	}
	out.Data = dst
	if null != nil {
		out.Null = null
	}
	return &out
}

// textSteps is the number of steps that reading or writing a short text costs.
const textSteps = 16

// parseTexts reads numbers, bools and times of texts.
func parseTexts(w *Work, x *Column, t Type) (*Column, error) {
	src := Elems[string](x)
	out := *x
	out.Type = t
	v, ok := RoomOf(w, t.DType, len(src))
	if !ok {
		return nil, w.Err()
	}
	for i, s := range src {
		if !w.Step(textSteps + len(s)) {
			break
		}
		if x.Uniform() && len(x.Same) == 0 && x.Null != nil && x.Null[i] {
			continue
		}
		one, err := parseOne(s, t)
		if err != nil {
			return nil, err
		}
		v.copy(i, vectorOf(one))
	}
	out.Data = v.Data()
	return out.ZeroNulls(), nil
}

func parseOne(s string, t Type) (any, error) {
	if t.Unit != None {
		v, err := ParseTime(t.Unit, s)
		return []int64{v}, err
	}
	bad := func() (any, error) { return nil, errs.New(errs.Invalid, "CAST: %q is no %s", s, t.DType) }
	s2 := strings.TrimSpace(s)
	switch {
	case t.DType == tensor.Bool:
		switch strings.ToLower(s2) {
		case "true", "t", "yes", "y", "1":
			return []bool{true}, nil
		case "false", "f", "no", "n", "0":
			return []bool{false}, nil
		}
		return bad()
	case t.Integer():
		if v, err := strconv.ParseInt(s2, 10, 64); err == nil {
			if out, b := Convert([]int64{v}, t.DType); b < 0 {
				return out, nil
			}
			return bad()
		}
		if v, err := strconv.ParseUint(s2, 10, 64); err == nil {
			if out, b := Convert([]uint64{v}, t.DType); b < 0 {
				return out, nil
			}
			return bad()
		}
	}
	v, err := strconv.ParseFloat(s2, 64)
	if err != nil || strings.ContainsAny(s2, "xX_") {
		return bad()
	}
	if t.Integer() {
		// half away from zero, where CAST of a float rounds half to even: both as DuckDB does
		v = math.Round(v)
	}
	out, b := Convert([]float64{v}, t.DType)
	if b >= 0 {
		return bad()
	}
	return out, nil
}

// FloorDiv rounds the quotient down, as Python does.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}
