package query

import (
	"math"

	"deeplake/core/tensor"
)

// verdict is the outcome of a condition that bounds allow.
type verdict uint8

const (
	perhaps verdict = iota
	never
	always
)

// test decides one condition by index pages.
type test struct {
	column int
	judge  func(z *Zone) verdict
}

// testOf returns the test of a condition; ok is false without one.
func testOf(cond *node) (test, bool) {
	switch {
	case cond.ref != nil && cond.ref.want == Nulls:
		return test{cond.ref.column, func(z *Zone) verdict {
			switch {
			case z.Hole:
				return always
			case z.Min != nil:
				return never
			}
			return perhaps
		}}, true
	case cond.compute == nil || len(cond.args) < 2:
		if cond.op == "NOT" && len(cond.args) == 1 {
			if t, ok := testOf(cond.args[0]); ok && cond.args[0].ref != nil {
				return test{t.column, func(z *Zone) verdict { return [...]verdict{perhaps, always, never}[t.judge(z)] }}, true
			}
		}
		return test{}, false
	}
	x := cond.args[0]
	op := cond.op
	switch op {
	case "IN":
		if !boundedRef(x) {
			return test{}, false
		}
		var low, high any
		for _, y := range cond.args[1:] {
			if y.constant() && y.t.Dims == 1 {
				continue // the list of IN ?, whose least and greatest items follow
			}
			v := numberOf(x, y)
			if v == nil || y.t.Weak && x.t.DType == tensor.Float32 {
				// which the other values of the list say
				return test{}, false
			}
			if low != nil && !atMost(low, v) && !atMost(v, low) || high != nil && !atMost(high, v) && !atMost(v, high) {
				return test{}, false // incomparable
			}
			if low == nil || before(v, low) {
				low = v
			}
			if high == nil || before(high, v) {
				high = v
			}
		}
		if low == nil {
			return test{}, false
		}
		return test{x.ref.column, func(z *Zone) verdict {
			if z.Hole || z.Min != nil && (before(z.Max, low) || before(high, z.Min)) {
				return never
			}
			return perhaps
		}}, true
	case "=", "!=", "<", "<=", ">", ">=":
		y := cond.args[1]
		if x.constant() {
			x, y = y, x
			op = map[string]string{"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}[op]
		}
		v := numberOf(x, y)
		if v == nil {
			return test{}, false
		}
		if boundedRef(x) {
			return test{x.ref.column, func(z *Zone) verdict {
				switch {
				case z.Hole:
					return never
				case z.Min == nil:
					return perhaps
				}
				return judge(op, z.Min, z.Max, v)
			}}, true
		}
		return shapeTest(op, x, v)
	}
	return test{}, false
}

// boundedRef reports whether x is a stored column of scalars.
func boundedRef(x *node) bool {
	return x.ref != nil && x.ref.want == Values && x.ref.part == nil && x.t.Scalar()
}

// shapeTest is for SHAPE(x)[i] op v.
func shapeTest(op string, x *node, v any) (test, bool) {
	if len(x.args) != 2 || x.args[0].ref == nil || x.args[0].ref.want != Shapes || x.args[0].t.Dims != 1 || !x.args[1].constant() || x.role != roleItem {
		return test{}, false
	}
	axis, ok := x.args[1].value.Value(0).(int64)
	if !ok || x.t.Dims != 0 {
		return test{}, false
	}
	return test{x.args[0].ref.column, func(z *Zone) verdict {
		i := axis
		if i < 0 {
			i += int64(len(z.MinShape))
		}
		switch {
		case z.Hole:
			return never
		case i < 0 || i >= int64(len(z.MinShape)):
			return perhaps
		}
		if got := judge(op, z.MinShape[i], z.MaxShape[i], v); got != always {
			return got
		}
		return perhaps // a row may still have no value
	}}, true
}

// judge returns the verdict of comparing values between low and high with v.
func judge(op string, low, high, v any) verdict {
	yes, no := false, false // for all values
	switch op {
	case "=":
		no = before(v, low) || before(high, v)
		yes = same(low, v) && same(high, v)
	case "!=":
		yes = before(v, low) || before(high, v)
		no = same(low, v) && same(high, v)
	case "<":
		yes, no = before(high, v), atMost(v, low)
	case "<=":
		yes, no = atMost(high, v), before(v, low)
	case ">":
		yes, no = before(v, low), atMost(high, v)
	case ">=":
		yes, no = atMost(v, low), before(high, v)
	}
	switch {
	case yes:
		return always
	case no:
		return never
	}
	return perhaps
}

// numberOf returns the value of a constant y for comparison with bounds of x, converted as the
// comparison converts it; nil if y has no such value.
func numberOf(x, y *node) any {
	if !y.constant() || !y.t.Scalar() || !y.t.DType.Fixed() || y.value.IsNull(0) || x.t.Unit != y.t.Unit {
		return nil
	}
	v := y.value.Value(0)
	if y.t.Weak && x.t.DType == tensor.Float32 { // of which the number takes the dtype
		v = float64(float32(toFloat(v)))
	}
	switch v := v.(type) {
	case int64, uint64, bool:
		return v
	case float64:
		if v == v {
			return v
		}
	}
	return nil
}

// before, same and atMost compare bounds. Between integers and floats they say yes only where it is
// certain.
func before(a, b any) bool { c, ok := compared(a, b); return ok && c < 0 }
func same(a, b any) bool   { c, ok := compared(a, b); return ok && c == 0 }
func atMost(a, b any) bool { c, ok := compared(a, b); return ok && c <= 0 }

func compared(a, b any) (int, bool) {
	x, okA := integer(a)
	y, okB := integer(b)
	if okA && okB {
		return sign(x < y, x > y), true
	}
	f, okA := float(a)
	g, okB := float(b)
	return sign(f < g, f > g), okA && okB
}

func sign(less, more bool) int {
	switch {
	case less:
		return -1
	case more:
		return 1
	}
	return 0
}

func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case uint64:
		return int64(v), v <= math.MaxInt64
	}
	return 0, false
}

// float is v where a float64 holds it exactly.
func float(v any) (float64, bool) {
	if f, ok := v.(float64); ok {
		return f, f == f
	}
	n, ok := integer(v)
	return float64(n), ok && n > -1<<53 && n < 1<<53
}
