package compute

import (
	"math"
	"strings"
	"testing"

	"deeplake/core/array"
	"deeplake/core/array/arraytest"
	"deeplake/core/tensor"
)

func weak(v any) *array.Column {
	t := array.Of(tensor.Int64)
	switch v.(type) {
	case float64:
		t = array.Of(tensor.Float64)
	case string:
		t = array.Of(tensor.String)
	case bool:
		t = array.Of(tensor.Bool)
	}
	t.Weak = true
	return array.Constant(t, v, 1)
}

func reals(v ...float64) *array.Column {
	return array.Constant(array.Type{DType: tensor.Float64, Dims: 1, Shape: tensor.Shape{int64(len(v))}, Weak: true}, v, 1)
}

func bits8(v ...uint8) *array.Column {
	return array.FromArrays(array.Type{DType: tensor.Uint8}, tensor.Shape{int64(len(v))}, v, nil)
}

func whole(v ...int64) *array.Column {
	return array.Constant(array.Type{DType: tensor.Int64, Dims: 1, Shape: tensor.Shape{int64(len(v))}, Weak: true}, v, 1)
}

func ints8(v ...int8) *array.Column {
	return array.FromArrays(array.Type{DType: tensor.Int8}, tensor.Shape{int64(len(v))}, v, nil)
}

func jsonOf(s ...string) *array.Column { return array.From(array.Of(tensor.JSON), s, nil) }

func TestOperators(t *testing.T) {
	nan := math.NaN()
	i64 := func(v ...int64) *array.Column { return array.FromInts(v, nil) }
	f64 := func(v ...float64) *array.Column { return array.FromFloats(v, nil) }
	date := func(v int64) *array.Column { return array.Constant(array.OfUnit(array.Date), v, 1) }
	stamp := func(v int64) *array.Column { return array.Constant(array.OfUnit(array.Timestamp), v, 1) }
	span := func(v int64) *array.Column { return array.Constant(array.OfUnit(array.Interval), v, 1) }
	label := arraytest.Samples()["label"]
	big := array.From(array.Of(tensor.Uint64), []uint64{1 << 63, 5, math.MaxUint64}, nil)
	ops := map[string]*Function{}
	for _, f := range operators() {
		ops[f.Name] = &f
	}
	for _, c := range []struct {
		op   string
		x, y *array.Column
		want string
	}{
		{"+", weak(int64(2)), weak(int64(3)), "int64: 5"},
		{"+", weak(true), weak(int64(3)), "int64: 4"},
		{"+", ints8(100, -100), weak(int64(100)), "int64 (2,): [200 0]"},
		{"+", i64(math.MaxInt64), weak(int64(1)), "error: addition: 9223372036854775807 + 1 does not fit int64; CAST(... AS DOUBLE) computes with floating point"},
		{"-", i64(math.MinInt64), weak(int64(1)), "error: subtraction: -9223372036854775808 - 1 does not fit int64; CAST(... AS DOUBLE) computes with floating point"},
		{"*", i64(1 << 62), weak(int64(2)), "error: multiplication: 4611686018427387904 * 2 does not fit int64; CAST(... AS DOUBLE) computes with floating point"},
		{"*", i64(-1 << 62), weak(int64(2)), "int64: -9223372036854775808"},
		{"*", i64(1<<40, -1<<40), weak(int64(1 << 22)), "int64: 4611686018427387904 -4611686018427387904"},
		{"+", big, weak(int64(1)), "error: addition: 9223372036854775808 does not fit int64; CAST(... AS DOUBLE) computes with floating point"},
		{"/", weak(int64(1)), weak(int64(2)), "float64: 0.5"},
		{"/", f64(1, -1, 0), weak(int64(0)), "float64: +Inf -Inf NaN"},
		{"%", i64(7, -7, 5), i64(-2, 2, 0), "int64: 1 -1 NULL"},
		{"%", i64(math.MinInt64), i64(-1), "int64: 0"},
		{"%", f64(-7.5), weak(int64(2)), "float64: -1.5"},
		{"%", ints8(1, 2), weak(int64(0)), "error: remainder: array of row 0 by zero"},
		{"^", weak(int64(2)), weak(int64(10)), "float64: 1024"},
		{"+", arraytest.Samples()["float32"], weak(1.5), "float32: 2 -0.5 NULL 4.75 NaN"},
		{"+", arraytest.Samples()["float32"], i64(1, 1, 1, 1, 1), "float64: 1.5 -1 NULL 4.25 NaN"},
		{"+", weak("a"), weak(int64(1)), "error: addition of text and int64: want numbers; || joins texts, CAST(... AS DOUBLE) reads a number"},
		{"-", arraytest.Samples()["matrix"].Slice(0, 1), reals(1, 2, 3, 4), "float64 (2, 4): (2, 4)[-4 2 -3 3 2 -3 3 -2]"},
		{"-", arraytest.Samples()["vector"].Slice(0, 1), reals(1, 2), "error: subtraction of float32 (3,) and float64 (2,): the shapes do not fit each other"},
		{"+", arraytest.Samples()["ragged"], reals(1, 2, 3), "error: addition of row 1: the shapes (0,) and (3,) do not fit each other"},
		{"-", date(31), date(1), "int64: 30"}, {"+", date(1), span(array.MicrosPerDay), "timestamp: 172800000000"}, {"-", stamp(5), stamp(3), "interval: 2"},
		{"+", date(1), weak(int64(2)), "date: 3"}, {"*", span(4), weak(1.5), "interval: 6"}, {"/", span(9), weak(int64(2)), "interval: 4"},
		{"+", date(1), date(1), "error: addition of date and date: no such thing; want numbers, or a date or timestamp and an interval"},

		{"=", f64(nan, 1, math.Inf(1)), f64(nan, nan, math.Inf(1)), "bool: true false true"},
		{"<", f64(nan, 1, math.Inf(1)), f64(nan, nan, nan), "bool: false true true"},
		{">", f64(nan, 1, math.Inf(1)), weak(1.0), "bool: true false true"},
		{">=", weak(1.0), f64(nan, 1, math.Inf(-1)), "bool: false true true"},
		{"!=", reals(nan, 1), reals(nan, 1), "bool (2,): [true false]"},
		{"<=", reals(nan, 1), reals(nan, 1), "bool (2,): [false true]"},
		{"=", ints8(1, 2, 3), weak(int64(1000)), "bool (3,): [false false false]"},
		{"<", ints8(1, 2, 3), weak(2.5), "bool (3,): [true true false]"},
		{"=", big, i64(-1, 5, -1), "bool: false true false"}, {">", big, i64(-1, 5, -1), "bool: true false true"}, {"<=", i64(-1, 5, -1), big, "bool: true true true"},
		{"=", weak(true), weak(int64(1)), "bool: true"},
		{"=", weak("a"), weak(int64(1)), "error: text = int64: cannot be compared; CAST makes one the other, a string in quotes is text"},
		{"<", weak("B"), weak("a"), "bool: true"},
		{"=", label, weak("dog"), "bool: false true NULL false false"}, {">", label, weak("cat"), "bool: false true NULL false false"},
		{"=", weak("cat"), label, "bool: true false NULL false false"}, {"!=", label, weak("cat"), "bool: false true NULL true true"},
		{"=", label, weak("dgo"), `error: no class is called "dgo"; did you mean "dog"?`},
		{"=", label, weak("horse"), `error: no class is called "horse" (want one of "abc", "cat", "dog")`},
		{"=", label, weak(int64(1)), "bool: false true NULL false false"},
		{"=", jsonOf(`1`, `"a"`, `null`, `[1]`, `1.0`), weak(int64(1)), "bool: true NULL NULL NULL true"},
		{"=", jsonOf(`1`, `"a"`), weak("a"), "bool: NULL true"},
		{"<", jsonOf(`{"a":1}`), jsonOf(`{"a":1}`), "bool: NULL"}, {"=", jsonOf(`{"a":1, "b":2}`), jsonOf(`{"b":2.0,"a":1}`), "bool: true"},
		{"<", date(1), weak("1970-01-03"), "bool: true"}, {"=", stamp(array.MicrosPerDay), date(1), "bool: true"},
		{"<", date(1), weak("soon"), `error: date "soon": want one like '2024-01-31'`},
		{"=", weak(int64(1)), array.Nothing(array.Type{}, 1), "bool: NULL"},

		{"||", weak("a"), weak("b"), "text: ab"}, {"||", label, weak("!"), "text: cat! dog! NULL abc! 7!"},
		{"||", arraytest.Samples()["ragged"], reals(9), "float64 (?,): [1 2 3 9] [9] NULL [4 9] [5 6 7 9]"},
		{"||", arraytest.Samples()["list"], arraytest.Samples()["list"], "list of int64: <1 2 1 2> <> NULL <NULL NULL> <4 5 6 4 5 6>"},
		{"||", weak("a"), weak(int64(1)), "error: text || int64: want text with text, or two lists; CAST(... AS TEXT) makes text"},

		{"LIKE", weak("Hello"), weak("h%L_"), "bool: true"}, {"LIKE", weak("Hello"), weak("h*l?"), "bool: true"}, {"LIKE", weak("a%"), weak(`a\%`), "bool: true"},
		{"LIKE", weak("ab"), weak(`a\%`), "bool: false"}, {"LIKE", weak(""), weak("%"), "bool: true"}, {"LIKE", weak("aab"), weak("%ab"), "bool: true"},
		{"LIKE", weak("abcabd"), weak("a%b%d"), "bool: true"}, {"LIKE", weak("\u00c4b"), weak("\u00e4_"), "bool: true"}, {"LIKE", label, weak("%o%"), "bool: false true NULL false false"},

		{"CAST AS tinyint", weak(2.5), nil, "int8: 2"}, {"CAST AS tinyint", weak(int64(300)), nil, "error: CAST: 300 of row 0 does not fit int8"},
		{"CAST AS tinyint", weak("12"), nil, "int8: 12"}, {"CAST AS tinyint", weak("x"), nil, `error: CAST: "x" is no int8`}, {"CAST AS tinyint", weak("300"), nil, `error: CAST: "300" is no int8`},
		{"CAST AS bigint", f64(9.3e18), nil, "error: CAST: 9.3e+18 of row 0 does not fit int64"}, {"CAST AS uint64", i64(-1), nil, "error: CAST: -1 of row 0 does not fit uint64"},
		{"CAST AS bigint", f64(nan), nil, "error: CAST: NaN of row 0 does not fit int64"}, {"CAST AS bool", weak("TRUE"), nil, "bool: true"}, {"CAST AS bool", i64(0, 7), nil, "bool: false true"},
		{"CAST AS text", f64(1, 0.1, 1e20, nan), nil, "text: 1.0 0.1 1e+20 nan"}, {"CAST AS text", label, nil, "text: cat dog NULL abc 7"}, {"CAST AS text", stamp(1500000), nil, "text: 1970-01-01 00:00:01.5"},
		{"CAST AS text", jsonOf(`"a b"`, `{"a":1}`, `null`), nil, `text: a b {"a":1} NULL`}, {"CAST AS double", jsonOf(`1`, `"2.5"`, `null`), nil, "float64: 1 2.5 NULL"},
		{"CAST AS double", jsonOf(`[1]`), nil, "error: CAST: the JSON value of row 0 is no float64"}, {"CAST AS date", stamp(-1), nil, "date: -1"},
		{"CAST AS text", arraytest.Samples()["vector"], nil, "error: CAST of float32 (3,): it cannot become text (3,)"}, {"CAST AS double", span(1), nil, "error: CAST of interval: it cannot become float64"},
		{"CAST AS json", i64(1, 2), nil, "json: 1 2"}, {"CAST AS json", weak(`a "b"`), nil, `json: "a \"b\""`},
		{"NEG", i64(math.MinInt64), nil, "error: subtraction: 0 - -9223372036854775808 does not fit int64; CAST(... AS DOUBLE) computes with floating point"},
		{"NEG", arraytest.Samples()["uint8"], nil, "int64: 0 -1 -2 -200 -255"},
		{"TRUTH", arraytest.Samples()["ragged"], nil, "bool: true false NULL true true"}, {"TRUTH", weak("a"), nil, "error: text is neither true nor false; compare it with something"},

		{"x[i]", arraytest.Samples()["vector"], weak(int64(-1)), "float32: 3 6 NULL 0 NaN"},
		{"x[i]", arraytest.Samples()["vector"], weak(int64(3)), "error: index 3 is out of bounds for an axis of size 3"},
		{"x[i]", arraytest.Samples()["ragged"], weak(int64(0)), "error: row 1: index 0 is out of bounds for an axis of size 0"},
		{"x[i]", arraytest.Samples()["ragged"].Slice(2, 5), i64(0, 0, -1), "int32: NULL 4 7"},
		{"x[i:]", arraytest.Samples()["ragged"], weak(int64(1)), "int32 (?,): [2 3] [] NULL [] [6 7]"},
		{"x[::i, ...]", arraytest.Samples()["vector"], weak(int64(-2)), "float32 (2,): [3 1] [6 4] NULL [0 -1] [NaN 9]"},
		{"x[::i, ...]", arraytest.Samples()["vector"], weak(int64(0)), "error: the step of a slice is 0"},
		{"x[..., :i]", arraytest.Samples()["matrix"].Slice(0, 1), weak(int64(-3)), "int64 (2, 1): (2, 1)[-3 3]"},
		{"x[:, i]", arraytest.Samples()["matrix"].Slice(0, 1), weak(int64(1)), "int64 (2,): [4 -1]"},
		{"x[:, i]", arraytest.Samples()["vector"], weak(int64(1)), "error: float32 (3,): 2 indices for an array of 1 axes"},
		{"x[i]", arraytest.Samples()["list"].Slice(0, 1), weak(int64(1)), "int64: 2"}, {"x[i:]", arraytest.Samples()["list"], weak(int64(1)), "list of int64: <2> <> NULL <> <5 6>"},
		{"x[:, i]", arraytest.Samples()["lists"], weak(int64(1)), "list of float32: <> <2> <> <4> <6>"},
		{"x[i]", jsonOf(`{"a": {"b": 1}}`, `[1]`, `{"a": null}`), weak("a"), `json: {"b": 1} NULL NULL`}, {"x[i]", jsonOf(`[1, 2]`, `{"a": 1}`), weak(int64(-1)), "json: 2 NULL"},
		{"x[i]", weak("abc"), weak(int64(1)), "error: index of text: it has no axes; SUBSTRING takes a part of a text"},
		{"x[i]", arraytest.Samples()["boxes"].Slice(3, 4), weak(int64(1)), "float32 (4,): [5 5 5 5]"},
	} {
		args := []*array.Column{c.x}
		if c.y != nil {
			args = append(args, c.y)
		}
		got := arraytest.Show(ops[c.op].Apply(args...))
		if got != c.want {
			t.Errorf("%s %s %s:\n got %s\nwant %s", arraytest.Show(c.x, nil), c.op, arraytest.Show(args[len(args)-1], nil), got, c.want)
		}
	}
}

func TestFunctions(t *testing.T) {
	null := array.Nothing(array.Type{}, 1)
	boxes := func(mode string, v ...float32) *array.Column {
		return array.FromArrays(array.Type{DType: tensor.Float32, HType: "bbox", Boxes: mode}, tensor.Shape{int64(len(v) / 4), 4}, v, nil)
	}
	none := array.FromRows(array.Type{DType: tensor.Float32, Dims: 2, HType: "bbox"}, []tensor.Shape{{0, 4}}, []float32{})
	matrix := array.FromArrays(array.Type{DType: tensor.Int64}, tensor.Shape{2, 3}, []int64{1, 2, 3, 4, 5, 6}, nil)
	empty := array.FromRows(array.Type{DType: tensor.Float32, Dims: 1}, []tensor.Shape{{0}}, []float32{})
	at, err := array.ParseTime(array.Timestamp, "2024-02-29 13:14:15.678901")
	if err != nil {
		t.Fatal(err)
	}
	when := array.Constant(array.OfUnit(array.Timestamp), at, 1)
	for _, c := range []struct {
		name string
		args []*array.Column
		want string
	}{
		{"IOU", []*array.Column{boxes("", 0, 0, 10, 10, 5, 5, 6, 6), boxes("", 0, 5, 10, 15)}, "float64: 0.3333333333333333"},
		{"IOU", []*array.Column{boxes("LTWH", 5, 5, 10, 10), boxes("CCWH", 10, 10, 10, 10)}, "float64: 1"},
		{"IOU", []*array.Column{none, boxes("", 0, 0, 1, 1)}, "float64: 0"}, {"IOU", []*array.Column{null, boxes("", 0, 0, 1, 1)}, "float64: NULL"},
		{"IOU", []*array.Column{boxes("", 0, 0, 2, 2, 0, 0, 1, 1), boxes("", 0, 0, 2, 1), weak("pairwise")}, "float64 (2, 1): (2, 1)[0.5 0.5]"},
		{"IOU", []*array.Column{boxes("", 0, 0, 2, 2), boxes("", 0, 0, 2, 1), weak("best")}, `error: IOU: argument 3 is "best", want 'pairwise'`},
		{"IOU", []*array.Column{matrix, none}, "error: IOU: argument 1 is int64 (2, 3), want boxes: (4,) or (boxes, 4) numbers"},
		{"AREA", []*array.Column{boxes("CCWH", 5, 5, 2, 3, 0, 0, 1, 1)}, "float64 (2,): [6 1]"}, {"AREA", []*array.Column{reals(0, 0, 2, 3)}, "float64: 6"},
		{"NORMALIZE", []*array.Column{boxes("", 100, 100, 250, 400), reals(100, 100, 400, 400)}, "float32 (1, 4): (1, 4)[0 0 0.5 1]"},
		{"NORMALIZE", []*array.Column{boxes("LTWH", 100, 100, 150, 300), reals(100, 100, 400, 400)}, "float32 (1, 4): (1, 4)[0 0 0.5 1]"},
		{"NORMALIZE", []*array.Column{boxes("", 0, 0, 1, 1), reals(1, 1, 1, 2)}, "error: NORMALIZE: the region [1 1 1 2] of row 0 is empty; it is [x0, y0, x1, y1]"},
		{"NORMALIZE", []*array.Column{boxes("", 0, 0, 1, 1), reals(1, 1)}, "error: NORMALIZE: argument 2 is float64 (2,), want a region: [x0, y0, x1, y1]"},

		{"SUM", []*array.Column{matrix}, "int64: 21"}, {"SUM", []*array.Column{matrix, weak(int64(0))}, "int64 (?,): [5 7 9]"}, {"SUM", []*array.Column{matrix, weak(int64(-1))}, "int64 (?,): [6 15]"},
		{"SUM", []*array.Column{matrix, weak(int64(2))}, "error: SUM: row 0 of shape (2, 3) has no axis 2"}, {"SUM", []*array.Column{empty}, "float64: 0"},
		{"MEAN", []*array.Column{empty}, "float64: NaN"}, {"AMAX", []*array.Column{empty}, "float32: NULL"}, {"ALL", []*array.Column{empty}, "bool: true"}, {"ALL_STRICT", []*array.Column{empty}, "bool: false"},
		{"ARGMAX", []*array.Column{reals(1, math.NaN(), 9)}, "int64: 1"}, {"AMIN", []*array.Column{reals(1, math.NaN(), 9)}, "float64: NaN"}, {"STD", []*array.Column{reals(1, 3)}, "float64: 1"},
		{"PROD", []*array.Column{reals(2, 3, 4)}, "float64: 24"}, {"SUM", []*array.Column{weak("a")}, "error: SUM: argument 1 is text, want numbers"},
		{"DOT", []*array.Column{reals(1, 2), reals(3, 4)}, "float64: 11"}, {"DOT", []*array.Column{reals(1, 2), reals(1)}, "error: DOT of float64 (2,) and float64 (1,): want vectors of one shape"},
		{"COSINE_SIMILARITY", []*array.Column{reals(0, 0), reals(3, 4)}, "float64: NaN"}, {"HAMMING_DISTANCE", []*array.Column{reals(1, 2), reals(1, 3)}, "int64: 1"},
		{"HAMMING_DISTANCE", []*array.Column{bits8(1, 0xff), whole(2, 0xf0)}, "int64: 6"}, {"HAMMING_DISTANCE", []*array.Column{whole(2, 0xf0), bits8(1, 0xff)}, "int64: 6"},
		{"HAMMING_DISTANCE", []*array.Column{bits8(1, 2), whole(2, 300)}, "error: HAMMING_DISTANCE: 300 does not fit uint8, of which the other vector is"},
		{"MAXSIM", []*array.Column{matrix, matrix}, "float64: 109"},
		{"SHAPE", []*array.Column{matrix}, "int64 (2,): [2 3]"}, {"NDIM", []*array.Column{matrix}, "int64: 2"}, {"SIZE", []*array.Column{matrix}, "int64: 6"}, {"SHAPE", []*array.Column{weak(int64(1))}, "int64 (0,): []"},
		{"FLATTEN", []*array.Column{matrix}, "int64 (6,): [1 2 3 4 5 6]"}, {"TRANSPOSE", []*array.Column{matrix}, "int64 (3, 2): (3, 2)[1 4 2 5 3 6]"},
		{"NONZERO", []*array.Column{reals(0, 2, 3)}, "int64 (?,): [1 2]"}, {"NONZERO", []*array.Column{array.FromArrays(array.Type{DType: tensor.Bool}, tensor.Shape{2, 2}, []bool{false, true, true, false}, nil)}, "int64 (?, 2): (2, 2)[0 1 1 0]"},
		{"CLIP", []*array.Column{ints8(-5, 5), weak(int64(0)), weak(int64(3))}, "int8 (2,): [0 3]"}, {"CLIP", []*array.Column{ints8(-5, 5), weak(0.5), weak(int64(3))}, "float64 (2,): [0.5 3]"},

		{"ABS", []*array.Column{array.FromInts([]int64{math.MinInt64}, nil)}, "error: ABS: -9223372036854775808 has no absolute value in int64"},
		{"ROUND", []*array.Column{weak(2.5)}, "float64: 3"}, {"ROUND", []*array.Column{reals(2.5, 3.5)}, "float64 (2,): [2 4]"}, {"ROUND", []*array.Column{weak(2.345), weak(int64(2))}, "float64: 2.35"},
		{"ROUND", []*array.Column{weak(int64(1250)), weak(int64(-2))}, "int64: 1300"}, {"LOG", []*array.Column{weak(int64(100))}, "float64: 2"}, {"LN", []*array.Column{weak(int64(0))}, "float64: -Inf"},
		{"SQRT", []*array.Column{weak(int64(-1))}, "float64: NaN"}, {"SIGN", []*array.Column{weak(-2.5)}, "float64: -1"}, {"FLOOR", []*array.Column{weak(-2.5)}, "float64: -3"}, {"CEIL", []*array.Column{weak(int64(4))}, "int64: 4"},

		{"GREATEST", []*array.Column{weak(int64(1)), null, weak(2.5)}, "float64: 2.5"}, {"LEAST", []*array.Column{weak(1.0), weak(math.NaN())}, "float64: 1"}, {"GREATEST", []*array.Column{null, null}, "NULL: NULL"},
		{"COALESCE", []*array.Column{null, weak(int64(2)), weak(int64(3))}, "int64: 2"}, {"NULLIF", []*array.Column{weak(int64(1)), weak(1.0)}, "int64: NULL"}, {"NULLIF", []*array.Column{weak(int64(1)), null}, "int64: 1"},
		{"COALESCE", []*array.Column{weak("a"), weak(int64(2))}, "error: text and int64 have no type in common; CAST makes one the other"}, {"IF", []*array.Column{null, weak("a"), weak("b")}, "text: b"},
		{"IF", []*array.Column{ints8(0, 1), weak("a"), weak("b")}, "text: a"},

		{"SUBSTRING", []*array.Column{weak("h\u00e4llo"), weak(int64(2)), weak(int64(2))}, "text: \u00e4l"}, {"SUBSTRING", []*array.Column{weak("hello"), weak(int64(-3)), weak(int64(2))}, "text: ll"},
		{"SUBSTRING", []*array.Column{weak("hello"), weak(int64(0)), weak(int64(2))}, "text: h"}, {"SUBSTRING", []*array.Column{weak("hello"), weak(int64(2))}, "text: ello"},
		{"SUBSTRING", []*array.Column{weak("hello"), weak(int64(2)), weak(int64(-1))}, "text: h"}, {"SUBSTRING", []*array.Column{weak("hello"), weak(int64(-10)), weak(int64(7))}, "text: he"},
		{"LEFT", []*array.Column{weak("hello"), weak(int64(-2))}, "text: hel"}, {"RIGHT", []*array.Column{weak("hello"), weak(int64(-2))}, "text: llo"}, {"RIGHT", []*array.Column{weak("hello"), weak(int64(9))}, "text: hello"},
		{"LEFT", []*array.Column{weak("hello"), weak(int64(0))}, "text: "}, {"REPEAT", []*array.Column{weak("ab"), weak(int64(3))}, "text: ababab"}, {"REPEAT", []*array.Column{weak("ab"), weak(int64(1) << 40)}, "error: REPEAT: the text of a row would have more than 1 GiB"},
		{"REPLACE", []*array.Column{weak("aaa"), weak("a"), weak("b")}, "text: bbb"}, {"TRIM", []*array.Column{weak("  a ")}, "text: a"}, {"TRIM", []*array.Column{weak("xxaxy"), weak("x")}, "text: axy"},
		{"INSTR", []*array.Column{weak("\u00e4bc"), weak("c")}, "int64: 3"}, {"INSTR", []*array.Column{weak("abc"), weak("")}, "int64: 1"}, {"LENGTH", []*array.Column{weak("\u00e4b")}, "int64: 2"},
		{"LENGTH", []*array.Column{weak(int64(5))}, "error: LENGTH: argument 1 is int64, want text, a list or an array"}, {"LENGTH", []*array.Column{jsonOf(`[1,2]`)}, "int64: 2"}, {"LENGTH", []*array.Column{matrix}, "int64: 2"},
		{"CONCAT", []*array.Column{weak("a"), null, weak(int64(1)), weak(2.5), weak(true)}, "text: a12.5true"}, {"UPPER", []*array.Column{weak("stra\u00dfe \u00e4")}, "text: STRA\u00dfE \u00c4"},
		{"REGEXP_EXTRACT", []*array.Column{weak("abc"), weak("b(.)")}, "text: bc"}, {"REGEXP_EXTRACT", []*array.Column{weak("abc"), weak("b(.)"), weak(int64(1))}, "text: c"},
		{"REGEXP_MATCHES", []*array.Column{weak("abc"), weak("(")}, "error: REGEXP_MATCHES: the pattern \"(\" cannot be read: error parsing regexp: missing closing ): `(`"},
		{"REGEXP_REPLACE", []*array.Column{weak("abc"), weak("b"), weak("x")}, "text: axc"}, {"LEVENSHTEIN", []*array.Column{weak("kitten"), weak("sitting")}, "int64: 3"}, {"LPAD", []*array.Column{weak("abc"), weak(int64(5))}, "text:   abc"},
		{"SPLIT", []*array.Column{weak("a,b"), weak(",")}, "list of text: <a b>"}, {"KEYS", []*array.Column{jsonOf(`{"b":1,"a":2}`)}, "list of text: <a b>"}, {"KEYS", []*array.Column{jsonOf(`[1]`)}, "list of text: NULL"},
		{"JSON_TYPE", []*array.Column{jsonOf(`[1]`, `1`, `"a"`, `null`)}, "text: array number string null"},
		{"CONTAINS", []*array.Column{jsonOf(`["a", 1]`, `{"a": 1}`, `"xay"`, `["ab"]`), weak("a")}, "bool: true true true false"}, {"CONTAINS", []*array.Column{jsonOf(`["a", 1]`), weak(1.0)}, "bool: true"},
		{"CONTAINS", []*array.Column{arraytest.Samples()["list"], weak(int64(4))}, "bool: false false NULL false true"}, {"CONTAINS", []*array.Column{arraytest.Samples()["labels"], weak("dog")}, "bool: false false NULL true true"},
		{"EQUALS", []*array.Column{weak("a"), weak("a")}, "bool: true"}, {"STARTS_WITH", []*array.Column{weak("abc"), weak("ab")}, "bool: true"},

		{"YEAR", []*array.Column{when}, "int64: 2024"}, {"MONTH", []*array.Column{when}, "int64: 2"}, {"DAY", []*array.Column{when}, "int64: 29"}, {"HOUR", []*array.Column{when}, "int64: 13"}, {"MINUTE", []*array.Column{when}, "int64: 14"},
		{"SECOND", []*array.Column{when}, "int64: 15"}, {"MILLISECOND", []*array.Column{when}, "int64: 15678"}, {"MICROSECOND", []*array.Column{when}, "int64: 15678901"}, {"DOW", []*array.Column{when}, "int64: 4"}, {"ISODOW", []*array.Column{when}, "int64: 4"},
		{"DOY", []*array.Column{when}, "int64: 60"}, {"WEEK", []*array.Column{when}, "int64: 9"}, {"QUARTER", []*array.Column{when}, "int64: 1"}, {"EPOCH", []*array.Column{when}, "float64: 1.709212455678901e+09"},
		{"YEAR", []*array.Column{weak(int64(5))}, "error: EXTRACT from int64: want a date, a timestamp or an interval"},
		{"DATE_PART", []*array.Column{weak("year"), when}, "int64: 2024"}, {"DATE_PART", []*array.Column{weak("yaer"), when}, `error: EXTRACT: there is no field "yaer" (want one of year, month, day, hour, minute, second, epoch, dow, isodow, doy, week, quarter, millisecond, microsecond); did you mean "year"?`},
		{"MAKE_DATE", []*array.Column{weak(int64(1970)), weak(int64(2)), weak(int64(1))}, "date: 31"}, {"MAKE_DATE", []*array.Column{weak(int64(1970)), weak(int64(2)), weak(int64(30))}, "date: NULL"},
		{"TO_TIMESTAMP", []*array.Column{weak(1.5)}, "timestamp: 1500000"}, {"ABS", nil, "error: ABS: got 0 arguments, want 1: ABS(x): the absolute value of each number"},
	} {
		if got := arraytest.Show(Find(c.name).Apply(c.args...)); got != c.want {
			var args []string
			for _, a := range c.args {
				args = append(args, arraytest.Show(a, nil))
			}
			t.Errorf("%s(%s):\n got %s\nwant %s", c.name, strings.Join(args, ", "), got, c.want)
		}
	}
	for field, want := range map[string]string{"year": "2024-01-01 00:00:00", "quarter": "2024-01-01 00:00:00", "month": "2024-02-01 00:00:00", "week": "2024-02-26 00:00:00",
		"day": "2024-02-29 00:00:00", "hour": "2024-02-29 13:00:00", "minute": "2024-02-29 13:14:00", "second": "2024-02-29 13:14:15", "milliseconds": "2024-02-29 13:14:15.678"} {
		got, err := Find("DATE_TRUNC").Apply(weak(field), when)
		if err != nil || array.FormatTime(array.Timestamp, got.Value(0).(int64)) != want {
			t.Errorf("DATE_TRUNC(%s): %s, want %s", field, arraytest.Show(got, err), want)
		}
	}
}

func TestLogic(t *testing.T) {
	v := array.FromBools([]bool{true, true, true, false, false, false, false, false, false}, []bool{false, false, false, false, false, false, true, true, true})
	w := array.FromBools([]bool{true, false, false, true, false, false, true, false, false}, []bool{false, false, true, false, false, true, false, false, true})
	for _, c := range []struct {
		f    func(w *array.Work, x, y *array.Column) (*array.Column, error)
		want string
	}{
		{And, "bool: true false NULL false false false NULL false NULL"},
		{Or, "bool: true true true true false NULL true NULL NULL"},
	} {
		if got := arraytest.Show(c.f(nil, v, w)); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
		if got := arraytest.Show(c.f(nil, w, v)); rows(mustBe(t)(c.f(nil, v, w))) != strings.TrimPrefix(got, "bool: ") {
			t.Errorf("the other way round: %s", got)
		}
	}
	set, err := NewSet(array.FromInts([]int64{1, 5, 0}, []bool{false, false, true}))
	if err != nil {
		t.Fatal(err)
	}
	if got := arraytest.Show(IsIn(nil, array.FromInts([]int64{1, 2, 0}, []bool{false, false, true}), set)); got != "bool: true NULL NULL" {
		t.Error(got)
	}
	for _, c := range []struct {
		x, set *array.Column
		want   string
	}{
		{arraytest.Samples()["label"], array.FromStrings([]string{"dog", "cat"}, nil), "bool: true true NULL false false"},
		{arraytest.Samples()["label"], array.FromStrings([]string{"dgo"}, nil), `error: no class is called "dgo"; did you mean "dog"?`},
		{array.FromFloats([]float64{math.NaN(), 1}, nil), array.FromFloats([]float64{math.NaN(), 2, 3, 4, 5, 6}, nil), "bool: true false"},
		{array.FromInts([]int64{1, 1000000, 7}, nil), array.FromInts([]int64{7, 1000000, 3, 4, 5, -5}, nil), "bool: false true true"},
		{array.FromInts([]int64{1, 60000, 7}, nil), array.FromInts([]int64{7, 60000, 3, 4, 5, -5}, nil), "bool: false true true"},
		{array.FromInts([]int64{1, 2}, nil), array.FromFloats([]float64{1.5, 2}, nil), "bool: false true"},
		{jsonOf(`1`, `"a"`, `[]`), array.FromInts([]int64{1}, nil), "bool: true NULL NULL"},
		{array.FromStrings([]string{"a", "b"}, nil), array.FromStrings([]string{"b"}, nil), "bool: false true"},
		{array.FromInts([]int64{1}, nil), array.FromStrings([]string{"b"}, nil), "error: int64 IN text: cannot be compared; CAST makes one the other, a string in quotes is text"},
		{array.FromInts([]int64{1}, nil), array.Empty(array.Of(tensor.Int64)), "bool: false"},
	} {
		s, err := NewSet(c.set)
		if err != nil {
			t.Fatal(err)
		}
		if got := arraytest.Show(IsIn(nil, c.x, s)); got != c.want {
			t.Errorf("%s IN %s: got %s, want %s", arraytest.Show(c.x, nil), arraytest.Show(c.set, nil), got, c.want)
		}
	}
}

func mustBe(t *testing.T) func(c *array.Column, err error) *array.Column {
	return func(c *array.Column, err error) *array.Column {
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

// TestLongRows reduces rows that are long enough for the loops in C, by the same rules as short
// ones.
func TestLongRows(t *testing.T) {
	const n = 1000
	for _, d := range []tensor.DType{tensor.Bool, tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Float32, tensor.Float64} {
		v := array.NewVector(d, n)
		sum, least, most := 0.0, 1e9, -1e9
		for i := range n {
			k := int64(i * 7 % 100)
			if d == tensor.Bool {
				k %= 2
			} else if !array.Unsigned(d) {
				k -= 50
			}
			v.Move(i, array.Constant(array.Of(d), k, 1).Vector(), 0, 1)
			sum, least, most = sum+float64(k), min(least, float64(k)), max(most, float64(k))
		}
		x := array.FromArrays(array.Type{DType: d}, tensor.Shape{n}, v.Data(), nil)
		for name, want := range map[string]float64{"SUM": sum, "MEAN": sum / n, "AMIN": least, "AMAX": most, "ANY": 1, "ALL": 0} {
			got, err := Find(name).Apply(x)
			if err != nil || array.AsFloat(got.Value(0)) != want {
				t.Errorf("%s of %s: %s, want %v", name, d, arraytest.Show(got, err), want)
			}
		}
	}
	nan := array.FromArrays(array.Type{DType: tensor.Float64}, tensor.Shape{100}, append(make([]float64, 99), math.NaN()), nil)
	for _, name := range []string{"AMIN", "AMAX", "SUM", "MEAN"} {
		if got, err := Find(name).Apply(nan); err != nil || !math.IsNaN(array.AsFloat(got.Value(0))) {
			t.Errorf("%s with NaN: %s", name, arraytest.Show(got, err))
		}
	}
}

// TestHugeRows: the size of a row is checked before memory is allocated.
func TestHugeRows(t *testing.T) {
	tall := array.FromArrays(array.Type{DType: tensor.Int8}, tensor.Shape{40000, 1}, make([]int8, 40000), nil)
	flat := array.FromArrays(array.Type{DType: tensor.Int8}, tensor.Shape{1, 40000}, make([]int8, 40000), nil)
	if got := arraytest.Show(Arith(nil, "+", tall, flat)); got != "error: addition: row 0 would have shape (40000, 40000) of int64, more than 1 GiB" {
		t.Error(got)
	}
	many := array.FromArrays(array.Type{DType: tensor.Int8}, tensor.Shape{20000, 4}, make([]int8, 80000), nil)
	if got := arraytest.Show(Find("IOU").Apply(many, many, weak("pairwise"))); got != "error: IOU: row 0 would have shape (20000, 20000) of float64, more than 1 GiB" {
		t.Error(got)
	}
}
