package compute

import (
	"bytes"
	"math/bits"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// TruthType refuses types without a truth value.
func TruthType(t array.Type) error {
	if t.DType == 0 || t.Number() && !t.List && !t.Label() {
		return nil
	}
	return errs.New(errs.Type, "%s is neither true nor false; compare it with something", t)
}

// LogicType returns the type of x AND y or x OR y.
func LogicType(op string, x, y array.Type) (array.Type, error) {
	for _, t := range []array.Type{x, y} {
		if err := TruthType(t); err != nil {
			return array.Type{}, err
		}
	}
	t, err := array.BroadcastTypes(op, tensor.Bool, x, y)
	t.Weak = false
	if (x.Dims == 0) != (y.Dims == 0) { // FALSE AND a missing array is FALSE, a single value
		t = t.WithAxes(nil)
	}
	return t, err
}

// NotType returns the type of NOT x.
func NotType(x array.Type) (array.Type, error) {
	if err := TruthType(x); err != nil {
		return array.Type{}, err
	}
	return x.WithDType(tensor.Bool), nil
}

// truths converts numbers to bools: every number but zero is true.
func truths(w *array.Work, c *array.Column) *array.Column {
	t := c.Type.WithDType(tensor.Bool)
	if c.DType == tensor.Bool {
		if c.HType == "" && !c.Weak {
			return c
		}
		out := *c
		out.Type = t
		return &out
	}
	return array.Map(w, t, c, array.Lanes[float64](c.Data), func(dst []bool, a []float64) {
		for i, v := range a {
			dst[i] = v != 0
		}
	})
}

// Truth returns the truth value of each row: an array is true if ANY of its elements is. NULL stays
// NULL.
func Truth(w *array.Work, c *array.Column) (*array.Column, error) {
	if err := TruthType(c.Type); err != nil {
		return nil, err
	}
	b := truths(w, c)
	if c.DType == 0 || b.Uniform() && len(b.Same) == 0 {
		b.Type.Dims, b.Type.Shape = 0, tensor.Shape{}
		return b, nil
	}
	out := &array.Column{Type: array.Of(tensor.Bool), N: b.N, Const: b.Const, Null: b.Null, Same: tensor.Shape{}}
	d := array.Elems[bool](b)
	dst, ok := array.Room[bool](w, b.Stored())
	if !ok {
		return nil, w.Err()
	}
	for i := range dst {
		lo, hi := b.Span(i)
		if !w.Step(rowSteps + (hi-lo)/16) {
			break
		}
		dst[i] = bytes.IndexByte(bytesOf(d[lo:hi]), 1) >= 0
	}
	out.Data = dst
	return out, nil
}

// And is x AND y: three-valued for scalars, element by element and broadcast for arrays, where NULL
// makes NULL.
func And(w *array.Work, x, y *array.Column) (*array.Column, error) { return logic(w, "AND", x, y) }

// Or is x OR y, as And.
func Or(w *array.Work, x, y *array.Column) (*array.Column, error) { return logic(w, "OR", x, y) }

// Not is NOT x, of each element.
func Not(w *array.Work, x *array.Column) (*array.Column, error) {
	t, err := NotType(x.Type)
	if err != nil {
		return nil, err
	}
	if x.DType == 0 {
		return array.Nothing(t, x.N), nil
	}
	b := truths(w, x)
	return array.Map(w, t, b, array.Direct(array.Elems[bool](b)), func(dst, a []bool) {
		for i, v := range a {
			dst[i] = !v
		}
	}), nil
}

func logic(w *array.Work, op string, x, y *array.Column) (*array.Column, error) {
	t, err := LogicType(op, x.Type, y.Type)
	if err != nil {
		return nil, err
	}
	scalar := func(c *array.Column) bool { return c.DType == 0 || c.Uniform() && len(c.Same) == 0 }
	if scalar(x) && scalar(y) {
		return array.ForAll(func(c []*array.Column, n int) (*array.Column, error) {
			return logicScalars(w, op == "AND", t, c[0], c[1], n), nil
		}, x, y)
	}
	and := op == "AND"
	if x.DType == 0 || y.DType == 0 {
		n, _ := array.RowsOf(x, y)
		return decided(w, and, t, array.Nothing(t, n), truths(w, x), truths(w, y))
	}
	a, b := truths(w, x), truths(w, y)
	out, err := zip(w, op, t, a, b, array.Direct(array.Elems[bool](a)), array.Direct(array.Elems[bool](b)), func(dst, a, b []bool) {
		for i := range dst {
			p, q := at(a, i), at(b, i)
			dst[i] = and && p && q || !and && (p || q)
		}
	})
	if err != nil {
		return nil, err
	}
	return decided(w, and, t, out, a, b)
}

// decided gives the rows of out a value in which one side is NULL, and the other is a single value
// that decides by itself: where rows differ in their number of axes, such a row must not depend on
// the others.
func decided(w *array.Work, and bool, t array.Type, out, a, b *array.Column) (*array.Column, error) {
	var place []int
	for i := range out.N {
		c := a
		if a.IsNull(i) {
			c = b
		}
		if a.IsNull(i) == b.IsNull(i) || len(c.ShapeAt(i)) > 0 {
			continue
		}
		if v, ok := c.Value(i).(bool); !ok || v == and {
			continue
		}
		if place == nil {
			place = make([]int, out.N)
			for k := range place {
				place[k] = k
			}
		}
		place[i] = out.N
	}
	if place == nil {
		return out, nil
	}
	wide := t
	wide.Dims, wide.Shape = array.Unranked, nil
	all, err := array.Concat(w, wide, []*array.Column{out, array.FromBools([]bool{!and}, nil)})
	if err != nil {
		return nil, err
	}
	return all.TakeIn(w, place), w.Err()
}

// logicScalars knows that FALSE AND NULL is FALSE, and TRUE OR NULL is TRUE.
func logicScalars(w *array.Work, and bool, t array.Type, x, y *array.Column, n int) *array.Column {
	t = t.WithAxes(tensor.Shape{})
	flat := func(c *array.Column) ([]bool, []bool) {
		if c.DType == 0 {
			return make([]bool, n), array.Nothing(t, n).Expand().Null
		}
		c = truths(w, c).Expand()
		return array.Elems[bool](c), c.Null
	}
	if !w.Reserve(6 * int64(n)) {
		return array.Nothing(t, n)
	}
	a, an := flat(x)
	b, bn := flat(y)
	dst := make([]bool, n)
	a, b = a[:n], b[:n]
	if and {
		for i := range dst {
			dst[i] = a[i] && b[i]
		}
	} else {
		for i := range dst {
			dst[i] = a[i] || b[i]
		}
	}
	out := &array.Column{Type: t, N: n, Same: tensor.Shape{}, Data: dst}
	if an == nil && bn == nil {
		return out
	}
	out.Null = make([]bool, n)
	for i := range out.Null {
		p, q := an != nil && an[i], bn != nil && bn[i]
		// A known operand decides alone if it is FALSE for AND, or TRUE for OR.
		null := p && (q || b[i] == and) || q && a[i] == and
		out.Null[i] = null
		dst[i] = dst[i] && !null
	}
	return out
}

// IsNull returns whether rows have no value.
func IsNull(c *array.Column) *array.Column {
	out := &array.Column{Type: array.Of(tensor.Bool), N: c.N, Const: c.Const, Same: tensor.Shape{}}
	dst := make([]bool, c.Stored())
	copy(dst, c.Nulls())
	out.Data = dst
	return out
}

// Pick returns the numbers of the rows that satisfy a condition, as in WHERE.
func Pick(c *array.Column) []int {
	if c.Const {
		if c.N == 0 || c.IsNull(0) || !array.Elems[bool](c)[0] {
			return nil
		}
		out := make([]int, c.N)
		for i := range out {
			out[i] = i
		}
		return out
	}
	d, _ := c.Data.([]bool)
	out := picked(d)
	if c.Null == nil {
		return out
	}
	kept := out[:0]
	for _, i := range out {
		if !c.Null[i] {
			kept = append(kept, i)
		}
	}
	return kept
}

// picked returns the true rows, eight at a time: often none of the eight is true, and otherwise
// branches are unpredictable.
func picked(d []bool) []int {
	words := wordsOf(d)
	n := 0
	for _, w := range words {
		n += bits.OnesCount64(w)
	}
	for _, v := range d[8*len(words):] {
		if v {
			n++
		}
	}
	out := make([]int, n+8) // the last eight may write as many that do not count
	n = 0
	for i, w := range words {
		if w == 0 {
			continue
		}
		if bits.OnesCount64(w) <= 2 {
			for ; w != 0; w &= w - 1 {
				out[n] = 8*i + bits.TrailingZeros64(w)/8
				n++
			}
			continue
		}
		to := out[n : n+8]
		k := 0
		for j := range 8 {
			to[k&7] = 8*i + j
			k += int(w & 1)
			w >>= 8
		}
		n += k
	}
	for i := 8 * len(words); i < len(d); i++ {
		if d[i] {
			out[n] = i
			n++
		}
	}
	return out[:n:n]
}

var logicOperators = []operator{
	{"AND", Facts{Infallible: fitting}},
	{"OR", Facts{Infallible: fitting}},
	{"NOT", Facts{Infallible: always}},
	{"TRUE OF", Facts{NoAlias: true, Infallible: always}},
	{"IS NULL", Facts{Infallible: always}},
	{"IS NOT NULL", Facts{Infallible: always}},
}
