package query

import (
	"slices"

	"deeplake/core/array"
	"deeplake/core/compute"
	"deeplake/core/tensor"
	"deeplake/core/tql"
)

// node is a typed expression, which a frame computes for its rows.
type node struct {
	at    tql.Pos
	id    int    // equal nodes have equal ids and equal values
	op    string // the operation; say is its text in messages
	role  role
	t     array.Type
	depth int
	args  []*node
	// compute makes the values from the values of args; nil for leaves.
	compute func(f *frame, args []*array.Column) (*array.Column, error)
	// alone computes the values where args are not wanted for all rows, as of CASE; it evaluates
	// them itself.
	alone func(f *frame, n *node) (*array.Column, error)

	// bounded is compute for a caller that needs no values beyond a limit, as
	// compute.Function.Bounded; nil: there is no such form.
	bounded func(w *array.Work, args []*array.Column, l compute.Limit) (*array.Column, error)

	facts compute.Facts // of the function or operator
	ref   *ref          // a column of an origin
	// a column that was computed before, of the frame's extra ones; -1: no
	extra int
	value *array.Column  // a constant, of one row
	agg   *aggregateCall // an aggregate; lift puts an extra in its place
	bound int            // the value of the outer query, plus 1
	also  *node          // a column that is read besides the args
	terms []string       // the words that BM25 looks for
	slow  bool           // a query is run for each row
	// a column of lists of texts: Field.TextLists
	textLists bool
	videos    *Videos // of a column of videos

	cost float64 // of computing one row, in nanoseconds, without args
	size float64 // of one row's value, in bytes
	say  string  // for plans and names of columns
}

// role distinguishes the nodes that plans treat in a way of their own.
type role uint8

const (
	_             role = iota
	roleCase           // CASE and COALESCE: they evaluate their args themselves
	roleRowNumber      // ROW_NUMBER()
	roleRandom         // RANDOM()
	roleTruth          // the condition that a number or an array is
	roleItem           // x[i]: the args are x and i
)

// placed reports whether n reads the positions of rows.
func (n *node) placed() bool { return n.role == roleRowNumber || n.role == roleRandom }

// ref is a read of a column of an origin.
type ref struct {
	origin, column int
	want           Want
	part           []Span
}

// constant reports whether x is the same for all rows.
func (x *node) constant() bool { return x.value != nil }

// each calls fn for x and all nodes below, once for a shared one.
func (x *node) each(fn func(*node)) {
	if len(x.args) == 0 && x.also == nil {
		fn(x)
		return
	}
	seen := map[*node]bool{}
	var visit func(n *node)
	visit = func(n *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		fn(n)
		if n.also != nil {
			visit(n.also)
		}
		for _, a := range n.args {
			visit(a)
		}
	}
	visit(x)
}

// refs returns the reads below x, each once.
func (x *node) refs() []*node {
	var out []*node
	seen := map[int]bool{}
	x.each(func(n *node) {
		if n.ref != nil && !seen[n.id] {
			seen[n.id] = true
			out = append(out, n)
		}
	})
	return out
}

// origins lists the origins that x reads.
func (x *node) origins() map[int]bool {
	out := map[int]bool{}
	x.each(func(n *node) {
		if n.ref != nil {
			out[n.ref.origin] = true
		}
	})
	return out
}

// aggregates reports whether x is of rows together.
func (x *node) aggregates() bool {
	found := false
	x.each(func(n *node) { found = found || n.agg != nil })
	return found
}

// price returns the cost of one row with all arguments, reads included.
func (x *node) price() float64 {
	total := 0.0
	x.each(func(n *node) { total += n.cost })
	return total
}

// weight is the number of bytes that one row takes while x is computed.
func (x *node) weight() float64 {
	total := 0.0
	x.each(func(n *node) {
		if total += n.size; n.slow {
			total += batchBytes / slowRows
		}
	})
	return total
}

// slowRows bounds the rows that a query computes one by one before it checks whether they suffice.
const slowRows = 64

// slows reports whether a query is run for each row.
func (x *node) slows() bool {
	slow := false
	x.each(func(n *node) { slow = slow || n.slow })
	return slow
}

// conjuncts returns the parts of a condition that must all hold.
func conjuncts(x *node, out []*node) []*node {
	if x.op == "AND" && x.compute != nil && len(x.args) == 2 && x.args[0].t.Scalar() && x.args[1].t.Scalar() {
		return conjuncts(x.args[1], conjuncts(x.args[0], out))
	}
	return append(out, x)
}

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
	case n.compute == nil && n.alone == nil, n.role == roleCase, n.placed():
		return true
	case n.role == roleItem:
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
