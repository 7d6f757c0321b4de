package query

import (
	"slices"
	"strings"

	"deeplake/core/compute"
	"deeplake/core/tensor"
)

// inBatches orders conditions that must all hold: the cheapest first, but none that may fail before
// one written earlier, which may exclude the failing rows.
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

// fails reports whether computing x may fail for some rows.
func (x *node) fails() bool {
	found := false
	x.each(func(n *node) { found = found || !n.infallible() })
	return found
}

// infallible reports whether n itself never fails, for any values of its args.
func (n *node) infallible() bool {
	switch {
	case n.ref != nil:
		// Slices beyond the end are cut; a single index beyond it fails.
		return n.t.Dims >= 0 && !slices.ContainsFunc(n.ref.part, func(s Span) bool { return s.At != nil }) || n.ref.part == nil
	case n.compute == nil && n.alone == nil, n.op == "CASE", n.op == rowNumberOp, strings.HasPrefix(n.op, randomOp):
		return true
	}
	if n.op == "index x," {
		return n.indexFits()
	}
	return n.facts.Infallible != nil && n.facts.Infallible(n.arguments(), n.t)
}

// arguments returns the args as facts see them.
func (n *node) arguments() []compute.Arg {
	out := make([]compute.Arg, len(n.args))
	for i, a := range n.args {
		out[i] = compute.Arg{Type: a.t, Value: a.value}
	}
	return out
}

// indexFits reports whether x[i] exists for all rows: x is JSON, where a missing item is NULL, or a
// shape of known length.
func (n *node) indexFits() bool {
	shape := n.args[0]
	if shape.t.DType == tensor.JSON {
		return true
	}
	if !n.args[1].constant() || shape.ref == nil || shape.ref.want != Shapes || !shape.t.Known() || len(shape.t.Shape) != 1 {
		return false
	}
	at, ok := n.args[1].value.Value(0).(int64)
	return ok && at < shape.t.Shape[0] && at >= -shape.t.Shape[0]
}
