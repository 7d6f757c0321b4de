package compute

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// comparing is the type in which two operands are compared.
type comparing uint8

const (
	asNull comparing = iota
	asInts
	asUints
	asMixed // uint64 and signed
	asFloat32
	asFloat64
	asText
	asLabels // names, at least on one side
	asJSON
	asTime
)

func comparison(op string, x, y array.Type) (comparing, error) {
	if err := array.RefuseLists("comparison", x, y); err != nil {
		return 0, err
	}
	bad := func(hint string) (comparing, error) {
		return 0, errs.New(errs.Type, "%s %s %s: cannot be compared%s", x, op, y, hint)
	}
	switch {
	case x.DType == 0 || y.DType == 0:
		return asNull, nil
	case x.DType == tensor.JSON || y.DType == tensor.JSON:
		if x.DType == tensor.Bytes || y.DType == tensor.Bytes || x.Unit != array.None || y.Unit != array.None {
			return bad("")
		}
		if x.DType != tensor.JSON && !x.Scalar() || y.DType != tensor.JSON && !y.Scalar() {
			return bad("")
		}
		return asJSON, nil
	case x.Unit != array.None || y.Unit != array.None:
		return timeComparison(x, y, bad)
	case x.DType == tensor.Bytes || y.DType == tensor.Bytes:
		if x.DType != y.DType {
			return bad("")
		}
		return asText, nil
	case x.Label() && (y.Text() || y.Label() && !array.SameNames(x.Names, y.Names)), y.Label() && x.Text():
		return asLabels, nil
	case x.Text() != y.Text():
		return bad("; CAST makes one the other, a string in quotes is text")
	case x.Text():
		return asText, nil
	}
	return numbers(x, y), nil
}

func timeComparison(x, y array.Type, bad func(string) (comparing, error)) (comparing, error) {
	a, b := x.Unit, y.Unit
	switch {
	case a == b, a == array.Date && b == array.Timestamp, a == array.Timestamp && b == array.Date:
		return asTime, nil
	case a != array.None && y.Text(), b != array.None && x.Text():
		return asTime, nil
	}
	return bad("; write DATE '2024-01-31' or TIMESTAMP '2024-01-31 12:00:00'")
}

func numbers(x, y array.Type) comparing {
	switch {
	case array.Narrow(x) && array.Narrow(y) && (x.DType == tensor.Float32 || y.DType == tensor.Float32):
		return asFloat32
	case x.Float() || y.Float():
		return asFloat64
	case x.DType != tensor.Uint64 && y.DType != tensor.Uint64:
		return asInts
	case array.Unsigned(x.DType) && array.Unsigned(y.DType):
		return asUints
	}
	return asMixed
}

// CompareType returns the type of x op y, where op is one of = != < <= > >=: bools of the shape
// both have together.
func CompareType(op string, x, y array.Type) (array.Type, error) {
	if _, err := comparison(op, x, y); err != nil {
		return array.Type{}, err
	}
	t, err := array.BroadcastTypes("comparison", tensor.Bool, x, y)
	t.Weak = false
	return t, err
}

// Compare is x op y. Among scalars NaN is above all numbers and equal to itself, among arrays it
// equals nothing. Labels and texts are compared by name; a constant that is no name is an error.
func Compare(w *array.Work, op string, x, y *array.Column) (*array.Column, error) {
	t, err := CompareType(op, x.Type, y.Type)
	if err != nil {
		return nil, err
	}
	how, _ := comparison(op, x.Type, y.Type)
	switch how {
	case asNull:
		n, _ := array.RowsOf(x, y)
		return array.Nothing(t, n), nil
	case asLabels:
		return compareLabels(w, op, t, x, y)
	case asJSON:
		return compareJSON(w, op, t, x, y)
	case asTime:
		if x, y, err = sameTime(w, x, y); err != nil {
			return nil, err
		}
		how = asInts
	}
	return compareAs(w, how, op, t, x, y)
}

func compareAs(w *array.Work, how comparing, op string, t array.Type, x, y *array.Column) (*array.Column, error) {
	total := x.Dims == 0 && y.Dims == 0
	switch how {
	case asText:
		return compareText(w, op, t, x, y)
	case asFloat32:
		return zip(w, "comparison", t, x, y, array.Lanes[float32](x.Data), array.Lanes[float32](y.Data), compareFloats[float32](op, total))
	case asFloat64:
		return zip(w, "comparison", t, x, y, array.Lanes[float64](x.Data), array.Lanes[float64](y.Data), compareFloats[float64](op, total))
	case asUints:
		return zip(w, "comparison", t, x, y, array.Lanes[uint64](x.Data), array.Lanes[uint64](y.Data), comparer[uint64](op))
	case asMixed:
		return compareMixed(w, op, t, x, y)
	}
	x, y = shrink(x, y)
	if x.DType == y.DType {
		switch x.DType {
		case tensor.Uint8:
			return compareSame[uint8](w, op, t, x, y)
		case tensor.Int8:
			return compareSame[int8](w, op, t, x, y)
		case tensor.Int16:
			return compareSame[int16](w, op, t, x, y)
		case tensor.Int32:
			return compareSame[int32](w, op, t, x, y)
		case tensor.Uint16:
			return compareSame[uint16](w, op, t, x, y)
		case tensor.Uint32:
			return compareSame[uint32](w, op, t, x, y)
		}
	}
	return zip(w, "comparison", t, x, y, array.Lanes[int64](x.Data), array.Lanes[int64](y.Data), comparer[int64](op))
}

// shrink gives a single constant the dtype of the column that it meets, if it fits, so that the
// column need not be widened.
func shrink(x, y *array.Column) (*array.Column, *array.Column) {
	switch {
	case x.DType == y.DType || x.DType == tensor.Bool || y.DType == tensor.Bool:
	case y.Const && y.Uniform() && y.RowSize() == 1:
		if data, bad := array.Convert(y.Data, x.DType); bad < 0 {
			small := *y
			small.DType, small.Data = x.DType, data
			return x, &small
		}
	case x.Const && !y.Const:
		y, x = shrink(y, x)
	}
	return x, y
}

func compareSame[T array.Number](w *array.Work, op string, t array.Type, x, y *array.Column) (*array.Column, error) {
	return zip(w, "comparison", t, x, y, array.Lanes[T](x.Data), array.Lanes[T](y.Data), comparer[T](op))
}

func compareText(w *array.Work, op string, t array.Type, x, y *array.Column) (*array.Column, error) {
	a, _ := x.Data.([]string)
	b, _ := y.Data.([]string)
	return zip(w, "comparison", t, x, y, array.Direct(a), array.Direct(b), comparer[string](op))
}

// compareMixed compares uint64 with signed numbers. A value outside the range of the other type is
// decided without conversion.
func compareMixed(w *array.Work, op string, t array.Type, x, y *array.Column) (*array.Column, error) {
	if y.DType == tensor.Uint64 {
		return compareSigned(w, op, t, x, y)
	}
	return compareSigned(w, flip(op), t, y, x)
}

// flip returns the operator for the operands in the other order.
func flip(op string) string {
	switch op {
	case "<":
		return ">"
	case "<=":
		return ">="
	case ">":
		return "<"
	case ">=":
		return "<="
	}
	return op
}

// compareSigned compares signed x with unsigned y: as signed numbers, except if y is beyond all of
// them.
func compareSigned(w *array.Work, op string, t array.Type, x, y *array.Column) (*array.Column, error) {
	a, b := array.Lanes[int64](x.Data), array.As[uint64](y.Data)
	over := func(lo, hi int, scratch []float64) []float64 {
		// where the unsigned is beyond every signed one
		out := scratch[:hi-lo]
		for i, v := range b[lo:hi] {
			out[i] = 0
			if v>>63 != 0 {
				out[i] = 1
			}
		}
		return out
	}
	low := func(lo, hi int, scratch []int64) []int64 {
		out := scratch[:hi-lo]
		for i, v := range b[lo:hi] {
			out[i] = int64(v &^ (1 << 63))
		}
		return out
	}
	small, err := zip(w, "comparison", t, x, y, a, low, comparer[int64](op))
	if err != nil {
		return nil, err
	}
	zero := func(lo, hi int, scratch []float64) []float64 { clear(scratch[:hi-lo]); return scratch[:hi-lo] }
	beyond, err := zip(w, "comparison", t, x, y, zero, over, comparer[float64]("<"))
	if err != nil {
		return nil, err
	}
	answer := op == "<" || op == "<=" || op == "!="
	d, e := array.Elems[bool](small), array.Elems[bool](beyond)
	for i := range d {
		if e[i] {
			d[i] = answer
		}
	}
	return small.ZeroNulls(), nil
}

// nativeOp is a comparison that there are loops in C for.
type nativeOp uint8

const (
	opEqual nativeOp = iota
	opLess
	opLessEqual
	opEqualTotal
	opLessTotal
)

// comparer returns the kernel of an operator. > and >= are < and <= with the sides changed.
func comparer[T cmp.Ordered](op string) kernel[T, bool] {
	eq, lt, le := fast(opEqual, equal[T]), fast(opLess, less[T]), fast(opLessEqual, lessEqual[T])
	switch op {
	case "=":
		return eq
	case "!=":
		return func(dst []bool, a, b []T) { eq(dst, a, b); invert(dst) }
	case "<":
		return lt
	case "<=":
		return le
	case ">":
		return func(dst []bool, a, b []T) { lt(dst, b, a) }
	}
	return func(dst []bool, a, b []T) { le(dst, b, a) }
}

// fast takes the loop in C if there is one.
func fast[T cmp.Ordered](op nativeOp, plain kernel[T, bool]) kernel[T, bool] {
	d := array.DTypeOf([]T(nil))
	if d == tensor.String {
		return plain
	}
	return func(dst []bool, a, b []T) {
		if !compareNative(d, op, dst, a, b) {
			plain(dst, a, b)
		}
	}
}

// wordsOf views bools as words of eight. The rest, fewer than eight, is not in them.
func wordsOf(d []bool) []uint64 {
	if len(d) < 8 {
		return nil // there is no word to point to
	}
	return unsafe.Slice((*uint64)(pointer(d)), len(d)/8)
}

func invert(dst []bool) {
	words := wordsOf(dst)
	for i, v := range words {
		words[i] = v ^ 0x0101010101010101
	}
	for i := len(words) * 8; i < len(dst); i++ {
		dst[i] = !dst[i]
	}
}

func equal[T cmp.Ordered](dst []bool, a, b []T) {
	if len(a) == 1 {
		a, b = b, a
	}
	if len(b) == 1 && len(a) == len(dst) {
		c := b[0]
		for i, v := range a {
			dst[i] = v == c
		}
		return
	}
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] == b[i]
	}
}

func less[T cmp.Ordered](dst []bool, a, b []T) {
	switch {
	case len(b) == 1 && len(a) == len(dst):
		c := b[0]
		for i, v := range a {
			dst[i] = v < c
		}
	case len(a) == 1:
		c := a[0]
		for i, v := range b[:len(dst)] {
			dst[i] = c < v
		}
	default:
		a, b = a[:len(dst)], b[:len(dst)]
		for i := range dst {
			dst[i] = a[i] < b[i]
		}
	}
}

func lessEqual[T cmp.Ordered](dst []bool, a, b []T) {
	switch {
	case len(b) == 1 && len(a) == len(dst):
		c := b[0]
		for i, v := range a {
			dst[i] = v <= c
		}
	case len(a) == 1:
		c := a[0]
		for i, v := range b[:len(dst)] {
			dst[i] = c <= v
		}
	default:
		a, b = a[:len(dst)], b[:len(dst)]
		for i := range dst {
			dst[i] = a[i] <= b[i]
		}
	}
}

// compareFloats compares by IEEE or, with total, in the order with NaN as the greatest value.
func compareFloats[T float32 | float64](op string, total bool) kernel[T, bool] {
	if !total {
		return comparer[T](op)
	}
	var f kernel[T, bool]
	switch op {
	case "=", "!=":
		f = fast(opEqualTotal, equalTotal[T])
	case "<", ">=":
		f = fast(opLessTotal, lessTotal[T])
	default:
		below := fast(opLessTotal, lessTotal[T])
		f = func(dst []bool, a, b []T) { below(dst, b, a) }
	}
	if op == "!=" || op == ">=" || op == "<=" {
		return func(dst []bool, a, b []T) { f(dst, a, b); invert(dst) }
	}
	return f
}

func equalTotal[T float32 | float64](dst []bool, a, b []T) {
	equal(dst, a, b)
	if len(b) == 1 && b[0] == b[0] || len(a) == 1 && a[0] == a[0] {
		return
	}
	for i := range dst {
		p, q := at(a, i), at(b, i)
		dst[i] = dst[i] || p != p && q != q
	}
}

// lessTotal does not test for NaN if one operand is a number other than NaN. NaN is not below that
// number. Values neither below nor equal are above it.
func lessTotal[T float32 | float64](dst []bool, a, b []T) {
	switch {
	case len(b) == 1 && len(a) == len(dst) && b[0] == b[0]:
		less(dst, a, b)
	case len(a) == 1 && a[0] == a[0]:
		lessEqual(dst, b, a)
		invert(dst)
	default:
		for i := range dst {
			p, q := at(a, i), at(b, i)
			dst[i] = p < q || q != q && p == p
		}
	}
}

var comparisons = []operator{
	{"=", comparisonFacts()}, {"!=", comparisonFacts()},
	{"<", comparisonFacts()}, {"<=", comparisonFacts()},
	{">", comparisonFacts()}, {">=", comparisonFacts()},
	{"IN", comparisonFacts()},
}

// comparisonFacts returns the facts of comparisons, EQUALS among them.
func comparisonFacts() Facts {
	return Facts{NoAlias: true, Infallible: func(args []Arg, t array.Type) bool { return fitting(args, t) && !parsesTimes(args) }}
}

// parsesTimes reports whether a comparison converts texts or dates to times, and may fail at that.
// A constant is tried at once.
func parsesTimes(args []Arg) bool {
	var units []array.Unit // few, of many arguments: IN takes long lists
	for _, a := range args {
		if !slices.Contains(units, a.Unit) {
			units = append(units, a.Unit)
		}
	}
	return slices.ContainsFunc(args, func(a Arg) bool {
		return slices.ContainsFunc(units, func(to array.Unit) bool {
			if a.Unit == to || !a.Text() && a.Unit != array.Date {
				return false
			}
			if a.Value == nil {
				return true
			}
			_, err := array.Cast(nil, a.Value, array.OfUnit(to))
			return err != nil
		})
	})
}

// compareLabels compares labels with text, or with labels that have other names.
func compareLabels(w *array.Work, op string, t array.Type, x, y *array.Column) (*array.Column, error) {
	if !x.Label() {
		return compareLabels(w, flip(op), t, y, x)
	}
	if y.Text() && y.Const {
		numbers, err := array.LabelNumbers(w, y, x.Names)
		if err != nil {
			return nil, err
		}
		if op == "=" || op == "!=" {
			return compareAs(w, asInts, op, t, x, numbers)
		}
	}
	a, b := array.LabelText(w, x), y
	if y.Label() {
		b = array.LabelText(w, y)
	}
	return compareText(w, op, t, a, b)
}

// compareJSON compares numbers with numbers and strings with strings. Values of different kinds
// give NULL.
func compareJSON(w *array.Work, op string, t array.Type, x, y *array.Column) (*array.Column, error) {
	return array.ForAll(func(c []*array.Column, n int) (*array.Column, error) {
		x, y := c[0], c[1]
		if x.Label() {
			x = array.LabelText(w, x)
		}
		if y.Label() {
			y = array.LabelText(w, y)
		}
		dst, null, ok := flags(w, n)
		if !ok {
			return nil, w.Err()
		}
		out := &array.Column{Type: t, N: n, Same: tensor.Shape{}, Null: null}
		for i := range n {
			if !w.Step(rowSteps) {
				break
			}
			a, b := array.JSONValue(x, i), array.JSONValue(y, i)
			order, ok := compareValues(a, b)
			if _, whole := a.(array.Compound); whole && op != "=" && op != "!=" {
				ok = false
			}
			if out.Null[i] = !ok; ok {
				dst[i] = holds(op, order)
			}
		}
		out.Data = dst
		return out, nil
	}, x, y)
}

func holds(op string, order int) bool {
	switch op {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// compareValues compares single values; ok is false if they are of different kinds.
func compareValues(a, b any) (int, bool) {
	if a == nil || b == nil || array.JSONRank(a) != array.JSONRank(b) {
		return 0, false
	}
	switch x := a.(type) {
	case string:
		return strings.Compare(x, b.(string)), true
	case array.Compound:
		return strings.Compare(array.CanonicalJSON(x.Text), array.CanonicalJSON(b.(array.Compound).Text)), true
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y), true
		}
	}
	return array.CompareFloat(array.AsFloat(a), array.AsFloat(b)), true
}

// coarse returns the same for values that compareValues finds equal; of others, large whole numbers
// may have it in common with their neighbours.
func coarse(v any) string {
	switch x := v.(type) {
	case string:
		return "text " + x
	case array.Compound:
		return "json " + array.CanonicalJSON(x.Text)
	case bool:
		return strconv.FormatBool(x)
	}
	return strconv.FormatFloat(array.CanonicalFloat(array.AsFloat(v)), 'g', -1, 64)
}

// Coarse maps values that are compared as JSON to texts. Values that = finds equal have equal
// texts, so a join need not compare all pairs.
func Coarse(w *array.Work, c *array.Column) (*array.Column, error) {
	if c.Label() {
		c = array.LabelText(w, c)
	}
	return array.ForAll(func(c []*array.Column, n int) (*array.Column, error) {
		dst, ok := array.Room[string](w, n)
		if !ok || !w.Reserve(int64(n)) {
			return nil, w.Err()
		}
		null := make([]bool, n)
		for i := range dst {
			if !w.Step(rowSteps) {
				break
			}
			v := array.JSONValue(c[0], i)
			if null[i] = v == nil; v != nil {
				dst[i] = coarse(v)
			}
		}
		return array.FromStrings(dst, null), nil
	}, c)
}
