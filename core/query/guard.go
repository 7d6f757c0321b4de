package query

import (
	"slices"
	"strings"

	"deeplake/core/array"
	"deeplake/core/tensor"
)

// inBatches puts conditions that must all hold into the order in which they are asked: the cheapest
// first, but none that can fail for a row before one that is written ahead of it, which may be
// there to keep such rows away.
func inBatches(conds []*node) []*node {
	type cond struct {
		x     *node
		price float64
		fails bool
	}
	left := make([]cond, len(conds))
	for i, x := range conds {
		left[i] = cond{x, x.price(), x.fails()}
	}
	out := make([]*node, 0, len(conds))
	for len(left) > 0 {
		best := 0
		for i, c := range left {
			if !c.fails && c.price < left[best].price {
				best = i
			}
		}
		out = append(out, left[best].x)
		left = slices.Delete(left, best, best+1)
	}
	return out
}

// fails reports whether computing x may fail for some rows, as far as anybody knows.
func (x *node) fails() bool {
	found := false
	x.each(func(n *node) { found = found || !n.infallible() })
	return found
}

// infallible reports whether n itself never fails, whatever its args are.
func (n *node) infallible() bool {
	switch {
	case n.ref != nil:
		// slices are cut
		return n.t.Dims >= 0 && !slices.ContainsFunc(n.ref.part, func(s Span) bool { return s.At != nil }) || n.ref.part == nil
	case n.compute == nil && n.alone == nil, n.op == "CASE", n.op == rowNumberOp, strings.HasPrefix(n.op, randomOp):
		return true
	}
	switch n.op {
	case "AND", "OR", "/", "^", "||":
		return fitting(n.args)
	case "=", "!=", "<", "<=", ">", ">=", "IN":
		return fitting(n.args) && !timed(n.args)
	case "+", "-", "*", "negative":
		return fitting(n.args) && (n.t.Float() || !slices.ContainsFunc(n.args, wide))
	case "%":
		return n.t.Scalar() && (n.t.Float() || !slices.ContainsFunc(n.args, unsigned))
	case "NOT", "TRUE OF", "IS NULL", "IS NOT NULL", "LIKE", "ILIKE", "present", "LENGTH", "LOWER", "UPPER", "CONTAINS", "EQUALS", "STARTS_WITH", "ENDS_WITH",
		"COALESCE", "ANY", "ALL", "SHAPE", "NDIM", "SIZE", "SQRT", "CBRT", "EXP", "LN", "LOG", "LOG10", "LOG2", "SIN", "COS", "TAN",
		"ISNAN", "ISINF", "ISFINITE", "L1_NORM", "L2_NORM", "LINF_NORM":
		return true
	case "DOT", "COSINE_SIMILARITY", "HAMMING_DISTANCE", "L1_DISTANCE", "L2_DISTANCE", "LINF_DISTANCE":
		return known(n.args[0].t) && known(n.args[1].t) && (n.op != "DOT" || n.t.Float())
	case "YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND":
		return n.args[0].t.Unit != array.Date // of which not all are timestamps
	case "index x,": // of JSON, or of a shape whose length is known
		at, ok := int64(0), n.args[1].constant()
		if ok {
			at, ok = n.args[1].value.Value(0).(int64)
		}
		shape := n.args[0]
		if shape.t.DType == tensor.JSON { // what is missing is NULL
			return true
		}
		return ok && shape.ref != nil && shape.ref.want == Shapes && known(shape.t) && len(shape.t.Shape) == 1 && at < shape.t.Shape[0] && at >= -shape.t.Shape[0]
	}
	return strings.HasPrefix(n.op, "EXTRACT ") && n.args[0].t.Unit != array.Date
}

// fitting reports whether shapes always go together: all but one are single values, or all are
// known when the query is checked.
func fitting(args []*node) bool {
	arrays, all := 0, true
	for _, a := range args {
		if !a.t.Scalar() {
			arrays, all = arrays+1, all && known(a.t)
		}
	}
	return arrays < 2 || all
}

// timed reports whether a column is made times of to be compared, which not every text or date can
// be.
func timed(args []*node) bool {
	return slices.ContainsFunc(args, func(a *node) bool {
		return !a.constant() && slices.ContainsFunc(args, func(b *node) bool {
			return a.t.Unit != b.t.Unit && (a.t.Text() || a.t.Unit == array.Date)
		})
	})
}

// unsigned reports whether values may not fit int64.
func unsigned(x *node) bool { return !x.constant() && x.t.DType == tensor.Uint64 }

// known reports whether all rows have one shape.
func known(t array.Type) bool {
	return t.Shape != nil && !slices.ContainsFunc(t.Shape, func(n int64) bool { return n < 0 })
}

// wide reports whether whole numbers are so large that a sum or a product of two of them may not
// fit int64.
func wide(x *node) bool {
	if x.constant() && x.t.Scalar() {
		v, ok := x.value.Value(0).(int64)
		return !ok || v != int64(int32(v))
	}
	return x.t.DType == tensor.Int64 || x.t.DType == tensor.Uint64 || x.t.DType == tensor.Uint32
}
