package query

import (
	"math"
	"slices"
	"sync/atomic"

	"deeplake/core/array"
	"deeplake/core/compute"
)

// cutoff is the current k-th best score of an order that begins with a measure. Every unit with
// enough rows tightens it. Rows whose bound is worse are skipped unscored.
type cutoff struct {
	measure *node
	minus   bool // the key is the measure with another sign
	desc    bool // of the key
	bits    atomic.Uint64
}

// newCutoff returns nil if the first sort key has no cheap bound, or if a later key may fail:
// pruning must not change whether the query fails.
func newCutoff(order []key) *cutoff {
	k := order[0]
	if slices.ContainsFunc(order[1:], func(k key) bool { return k.x.fails() }) {
		return nil
	}
	c := &cutoff{measure: k.x, desc: k.desc}
	if k.x.op == "negative" && k.x.compute != nil {
		c.measure, c.minus = k.x.args[0], true
	}
	if c.measure.bounded == nil || c.measure.compute == nil || k.nullsFirst {
		return nil
	}
	own := *c.measure
	own.args = slices.Clone(own.args)
	for i, a := range own.args {
		if a.constant() {
			wide := *a
			wide.value = compute.Sought(a.value)
			own.args[i] = &wide
		}
	}
	c.measure = &own
	c.bits.Store(math.Float64bits(math.NaN()))
	return c
}

// value is NaN before the first score.
func (c *cutoff) value() float64 { return math.Float64frombits(c.bits.Load()) }

// move tightens the cutoff to v: enough rows are at least as good.
func (c *cutoff) move(v float64) {
	for v == v {
		was := c.bits.Load()
		if old := math.Float64frombits(was); c.desc && v <= old || !c.desc && v >= old {
			return
		}
		if c.bits.CompareAndSwap(was, math.Float64bits(v)) {
			return
		}
	}
}

// within returns the rows of a frame that are not worse than the cutoff, and their first key. If
// found is false, the caller computes the key in the ordinary way, which also reports errors.
func (b *best) within(f *frame) (picked []int, key *array.Column, found bool) {
	c := b.cut
	if c == nil || f.knows(c.measure) {
		return nil, nil, false
	}
	at := c.value()
	if at != at {
		return nil, nil, false
	}
	l := compute.Limit{At: at, Above: !c.desc}
	if c.minus {
		l = compute.Limit{At: -at, Above: c.desc}
	}
	if len(f.w.room) < 2*f.n {
		f.w.room = make([]float64, 2*f.n)
	}
	l.Room = f.w.room
	n := *c.measure
	n.id = unknown
	n.compute = func(_ *frame, args []*array.Column) (*array.Column, error) { return n.bounded(args, l) }
	var values []float64
	plain := true
	take := func(v *array.Column, from int) {
		data, ok := v.Data.([]float64)
		if plain = plain && ok && !v.Const; plain {
			picked, values = c.pick(data[:v.N], v.Null, &l, from, picked, values)
		}
	}
	whole, err := f.pieces(&n, take)
	if err == nil && !whole {
		picked, values = nil, nil
		var v *array.Column
		if v, err = f.compute(&n); err == nil && v.N == f.n {
			take(v, 0)
		} else {
			plain = false
		}
	}
	if err != nil || !plain {
		return nil, nil, false
	}
	return picked, array.FromFloats(values, nil), true
}

// pick adds rows that are not behind l, and their keys; the first of v is row from.
func (c *cutoff) pick(v []float64, null []bool, l *compute.Limit, from int, picked []int, keys []float64) ([]int, []float64) {
	for i, x := range v {
		switch {
		case l.Above && x > l.At, !l.Above && x < l.At:
			continue
		case null != nil && null[i], x != x && !c.desc: // both come last
			continue
		case c.minus:
			x = -x
		}
		picked, keys = append(picked, from+i), append(keys, x)
	}
	return picked, keys
}

// unknown is the id of a node whose values no other node shares.
const unknown = -1

// knows reports whether the values of a node are there already.
func (f *frame) knows(n *node) bool {
	return f.memo[n.id] != nil || f.parent != nil && f.parent.memo[n.id] != nil
}
