package arraytest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"deeplake/core/array"
	"deeplake/core/tensor"
)

// Show returns a column as text: its type and its rows, or its error.
func Show(c *array.Column, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	s := c.Type.String() + ":"
	for i := range c.N {
		s += " " + ShowRow(c, i)
	}
	return s
}

// ShowRow returns one row as text.
func ShowRow(c *array.Column, i int) string {
	if c.IsNull(i) {
		return "NULL"
	}
	if c.List {
		s := "<"
		lo, hi := c.ItemSpan(i)
		for j := lo; j < hi; j++ {
			if j > lo {
				s += " "
			}
			s += ShowRow(c.Items, j)
		}
		return s + ">"
	}
	lo, hi := c.Span(i)
	shape := c.ShapeAt(i)
	if len(shape) == 0 {
		return fmt.Sprint(c.Vector().At(lo))
	}
	s := ""
	if len(shape) > 1 {
		s = shape.String()
	}
	s += "["
	for j := lo; j < hi; j++ {
		if j > lo {
			s += " "
		}
		s += fmt.Sprint(c.Vector().At(j))
	}
	return s + "]"
}

// Flaw describes a broken invariant of a column, "" if there is none.
func Flaw(c *array.Column) string {
	held := c.Stored()
	switch {
	case c.Null != nil && len(c.Null) != held:
		return fmt.Sprint(len(c.Null), " flags for ", held, " rows")
	case c.DType == 0, c.N == 0 && c.Data == nil && c.Items == nil:
		return ""
	case c.List:
		if len(c.Ends) != held || c.Items == nil && held > 0 {
			return fmt.Sprint(len(c.Ends), " ends for ", held, " rows")
		}
		if held > 0 && c.Ends[held-1] > c.Items.N {
			return "ends behind the items"
		}
		for i := 1; i < held; i++ {
			if c.Ends[i] < c.Ends[i-1] {
				return "ends go back"
			}
		}
		if c.Items == nil {
			return ""
		}
		return Flaw(c.Items)
	case array.DTypeOf(c.Data) != array.DTypeOf(array.NewVector(c.DType, 0).Data()):
		return fmt.Sprintf("data %T of %s", c.Data, c.DType)
	case c.Shapes == nil:
		if got, want := c.Vector().Len(), held*c.RowSize(); got != want && c.N > 0 {
			return fmt.Sprint(got, " elements, want ", want)
		}
		if c.N > 0 && c.Dims != array.Unranked && len(c.Same) != c.Dims {
			return fmt.Sprint(c.Type, " has rows of shape ", c.Same)
		}
		if c.N > 0 && c.Dims != array.Unranked && c.Shape != nil && !c.Same.Fits(c.Shape) {
			return fmt.Sprint(c.Type, " has rows of shape ", c.Same)
		}
		return ""
	case len(c.Shapes) != held || len(c.Starts) != held+1:
		return "shapes or starts of the wrong number"
	case c.Dims == 0:
		return "ragged scalars"
	}
	for i, s := range c.Shapes {
		n := 0
		if s != nil {
			n = array.SizeOf(s)
		}
		if (s == nil) != c.IsNull(i) || c.Starts[i+1]-c.Starts[i] != n {
			return fmt.Sprint("row ", i, " of shape ", s, " has ", c.Starts[i+1]-c.Starts[i], " elements, NULL ", c.IsNull(i))
		}
		if s != nil && c.Dims != array.Unranked && (len(s) != c.Dims || c.Shape != nil && !s.Fits(c.Shape)) {
			return fmt.Sprint(c.Type, " has a row of shape ", s)
		}
	}
	if c.Starts[held] > c.Vector().Len() {
		return "starts behind the data"
	}
	return ""
}

// SampleRows is the length of each column of Samples.
const SampleRows = 5

// Samples returns columns of SampleRows rows, of every dtype and form, by name.
func Samples() map[string]*array.Column {
	null := []bool{false, false, true, false, false}
	weak := func(t array.Type) array.Type { t.Weak = true; return t }
	out := map[string]*array.Column{
		"null":       array.Nothing(array.Type{}, SampleRows),
		"bool":       array.FromBools([]bool{true, false, false, true, true}, null),
		"uint8":      array.From(array.Of(tensor.Uint8), []uint8{0, 1, 2, 200, 255}, nil),
		"uint16":     array.From(array.Of(tensor.Uint16), []uint16{0, 1, 2, 200, 65535}, nil),
		"uint32":     array.From(array.Of(tensor.Uint32), []uint32{0, 1, 2, 200, 1 << 31}, nil),
		"uint64":     array.From(array.Of(tensor.Uint64), []uint64{0, 1, 0, 200, 1 << 40}, null),
		"int8":       array.From(array.Of(tensor.Int8), []int8{-3, 1, 0, 100, 127}, null),
		"int16":      array.From(array.Of(tensor.Int16), []int16{-3, 1, 2, 100, 127}, nil),
		"int32":      array.From(array.Of(tensor.Int32), []int32{-3, 1, 0, 100, 127}, null),
		"int64":      array.FromInts([]int64{2, 1, 0, -7, 3}, null),
		"float32":    array.From(array.Of(tensor.Float32), []float32{0.5, -2, 0, 3.25, float32(math.NaN())}, null),
		"float64":    array.FromFloats([]float64{0.5, math.Inf(1), 3, -2.5, 0}, nil),
		"text":       array.FromStrings([]string{"abc", "", "", "Zug 12", "a\u00e4b"}, null),
		"json":       array.From(array.Of(tensor.JSON), []string{`{"a": 1, "b": [1, 2]}`, `"abc"`, ``, `2.5`, `["abc", 1]`}, null),
		"bytes":      array.From(array.Of(tensor.Bytes), []string{"abc", "", "x", "\xff", "abc"}, nil),
		"date":       array.From(array.OfUnit(array.Date), []int64{0, -1, 19000, 20000, 1}, nil),
		"timestamp":  array.From(array.OfUnit(array.Timestamp), []int64{0, -1, 0, 1700000000123456, array.MicrosPerDay}, null),
		"interval":   array.From(array.OfUnit(array.Interval), []int64{0, -1, 3600000000, array.MicrosPerDay, 5 * array.MicrosPerDay}, nil),
		"label":      array.From(array.Type{DType: tensor.Uint32, HType: "class_label", Names: []string{"cat", "dog", "abc"}}, []uint32{0, 1, 0, 2, 7}, null),
		"labels":     array.FromRows(array.Type{DType: tensor.Int64, Dims: 1, Names: []string{"cat", "dog", "abc"}}, []tensor.Shape{{1}, {0}, nil, {2}, {1}}, []int64{0, 1, 2, 1}),
		"weak int":   array.Constant(weak(array.Of(tensor.Int64)), int64(3), SampleRows),
		"weak float": array.Constant(weak(array.Of(tensor.Float64)), 1.5, SampleRows),
		"name":       array.Constant(weak(array.Of(tensor.String)), "abc", SampleRows),
		"no number":  array.Constant(array.Of(tensor.Int32), nil, SampleRows),
		"vector":     array.FromArrays(array.Type{DType: tensor.Float32}, tensor.Shape{3}, []float32{1, 2, 3, 4, 5, 6, 0, 0, 0, -1, 0.5, 0, 9, 9, float32(math.NaN())}, null),
		"bytes3":     array.FromArrays(array.Type{DType: tensor.Uint8}, tensor.Shape{3}, []uint8{1, 2, 3, 4, 5, 6, 0, 0, 0, 255, 128, 0, 9, 9, 9}, nil),
		"one":        array.FromArrays(array.Type{DType: tensor.Int16}, tensor.Shape{1}, []int16{1, 2, 0, -4, 5}, null),
		"query":      array.Constant(weak(array.Type{DType: tensor.Float64, Dims: 1, Shape: tensor.Shape{3}}), []float64{0.5, 1, -2}, SampleRows),
		"flags":      array.FromArrays(array.Type{DType: tensor.Bool}, tensor.Shape{2}, []bool{true, false, false, false, true, true, false, true, false, false}, nil),
		"ragged":     array.FromRows(array.Type{DType: tensor.Int32, Dims: 1}, []tensor.Shape{{3}, {0}, nil, {1}, {3}}, []int32{1, 2, 3, 4, 5, 6, 7}),
		"unranked":   array.FromRows(array.Type{DType: tensor.Float64, Dims: array.Unranked}, []tensor.Shape{{}, {2, 1}, nil, {0, 3}, {3}}, []float64{1, 2, 3, 4, 5, 6}),
		"boxes": array.FromRows(array.Type{DType: tensor.Float32, Dims: 2, Shape: tensor.Shape{-1, 4}, HType: "bbox", Boxes: "LTWH"},
			[]tensor.Shape{{1, 4}, {0, 4}, nil, {2, 4}, {1, 4}}, []float32{0, 0, 10, 10, 1, 1, 2, 2, 5, 5, 5, 5, 0, 0, 0, 3}),
		"matrix": array.FromArrays(array.Type{DType: tensor.Int64}, tensor.Shape{2, 4}, func() []int64 {
			v := make([]int64, 8*SampleRows)
			for i := range v {
				v[i] = int64(i*7%11) - 3
			}
			return v
		}(), nil),
		"list":  array.FromLists(array.FromInts([]int64{1, 2, 0, 4, 5, 6}, []bool{false, false, true, false, false, false}), []int{2, 2, 2, 3, 6}, null),
		"words": array.FromLists(array.FromStrings([]string{"abc", "b", "c"}, nil), []int{1, 1, 3, 3, 3}, nil),
		"lists": array.FromLists(array.FromArrays(array.Type{DType: tensor.Float32}, tensor.Shape{2}, []float32{1, 2, 3, 4, 5, 6}, nil), []int{0, 1, 1, 2, 3}, nil),
	}
	for _, c := range out {
		c.ZeroNulls()
	}
	return out
}

// RaggedForm returns the same rows with a shape for each of them.
func RaggedForm(c *array.Column) *array.Column {
	c = c.Expand()
	if c.List || c.Dims == 0 || c.DType == 0 || c.Shapes != nil {
		return c
	}
	out := &array.Column{Type: c.Type, N: c.N, Null: c.Null, Shapes: make([]tensor.Shape, c.N), Starts: make([]int, c.N+1)}
	v := array.NewVector(c.DType, c.Elements())
	at := 0
	for i := range c.N {
		if !c.IsNull(i) {
			lo, hi := c.Span(i)
			v.Move(at, c.Vector(), lo, hi)
			at += hi - lo
			out.Shapes[i] = c.Same
		}
		out.Starts[i+1] = at
	}
	out.Data = v.Cut(0, at).Data()
	return out
}

// OneRow returns row i as a constant.
func OneRow(c *array.Column, i int) *array.Column {
	return c.Slice(i, i+1).Expand().OnlyRow().Repeat(1)
}

// RandomNumbers makes n values with ties. Where odd, floats have NaN, infinities and zeros of both
// signs, too.
func RandomNumbers[T array.Number](r *rand.Rand, n int, odd bool) []T {
	out := make([]T, n)
	for i := range out {
		v := float64(r.IntN(40))
		if r.IntN(3) == 0 && !array.Unsigned(array.DTypeOf(out)) {
			v = -v
		}
		out[i] = T(v)
		if T(1)/2 != 0 {
			out[i] = T(v / 4)
			if odd && r.IntN(8) == 0 {
				out[i] = T([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}[r.IntN(4)])
			}
		}
	}
	return out
}

// RandomRows makes rows of n values of one dtype.
func RandomRows(r *rand.Rand, d tensor.DType, rows, n int) *array.Column {
	var data any
	switch d {
	case tensor.Float32:
		data = RandomNumbers[float32](r, rows*n, false)
	case tensor.Float64:
		data = RandomNumbers[float64](r, rows*n, false)
	case tensor.Int8:
		data = RandomNumbers[int8](r, rows*n, false)
	case tensor.Uint8:
		data = RandomNumbers[uint8](r, rows*n, false)
	default:
		data = RandomNumbers[int32](r, rows*n, false)
	}
	return array.FromArrays(array.Type{DType: d}, tensor.Shape{int64(n)}, data, nil)
}
