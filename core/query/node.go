package query

import (
	"deeplake/core/array"
	"deeplake/core/compute"
	"deeplake/core/tql"
)

// node is an expression of which the type is known, and which can be computed for the rows of a
// frame.
type node struct {
	at    tql.Pos
	id    int    // equal nodes have equal ids: what one of them gives the others give too
	op    string // what it does; say may be anything
	t     array.Type
	depth int
	args  []*node
	// compute makes the values out of those of the args; nil for leaves.
	compute func(f *frame, args []*array.Column) (*array.Column, error)
	// alone computes the values where args are not wanted for all rows, as of CASE; it evaluates
	// them itself.
	alone func(f *frame, n *node) (*array.Column, error)

	// bounded is compute for somebody who does not want values beyond a limit, as
	// compute.Function.Bounded says; nil: there is none.
	bounded func(args []*array.Column, l compute.Limit) (*array.Column, error)

	facts compute.Facts // of the function or operator
	ref   *ref          // a column of an origin
	// a column that was computed before, of the frame's extra ones; -1: no
	extra       int
	value       *array.Column // a constant, of one row
	agg         *aggregate    // an aggregate; lift puts an extra in its place
	bound       int           // what the query around gives, plus 1
	also        *node         // a column that is read besides the args
	fingerprint []string      // what BM25 looks for
	slow        bool          // a query is run for each row

	cost float64 // of computing one row, in nanoseconds, without args
	size float64 // of one row's value, in bytes
	say  string  // for plans and names of columns
}

// ref is what is read of a column of an origin.
type ref struct {
	origin, column int
	want           Want
	part           []Span
}

// constant reports whether x is the same for all rows.
func (x *node) constant() bool { return x.value != nil }

// each calls fn for x and all below, once for what is an argument in several places.
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

// refs lists what x reads, each once.
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

// price is the cost of one row with all args and, for what is read, reading.
func (x *node) price() float64 {
	total := 0.0
	x.each(func(n *node) { total += n.cost })
	return total
}

// weight is how many bytes one row takes while x is computed.
func (x *node) weight() float64 {
	total := 0.0
	x.each(func(n *node) {
		if total += n.size; n.slow {
			total += batchBytes / slowRows
		}
	})
	return total
}

// slowRows is for how many rows at most a query is run one by one before somebody looks whether
// that is enough.
const slowRows = 64

// slows reports whether a query is run for each row.
func (x *node) slows() bool {
	slow := false
	x.each(func(n *node) { slow = slow || n.slow })
	return slow
}

// conjuncts are the parts of a condition that must all hold.
func conjuncts(x *node, out []*node) []*node {
	if x.op == "AND" && x.compute != nil && len(x.args) == 2 && x.args[0].t.Scalar() && x.args[1].t.Scalar() {
		return conjuncts(x.args[1], conjuncts(x.args[0], out))
	}
	return append(out, x)
}
