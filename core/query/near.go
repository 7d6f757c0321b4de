package query

import (
	"math"
	"slices"
	"sync/atomic"

	"deeplake/core/array"
)

// cutoff is what rows may not be behind, in an order that begins with a measure: every unit that has rows enough says what the
// last of them has, and measures no row of which is known beforehand that it is behind.
type cutoff struct {
	measure *node
	minus   bool // the key is the measure with another sign
	desc    bool // of the key
	bits    atomic.Uint64
}

// newCutoff is nil where the key is none of which something is known beforehand.
func newCutoff(k key) *cutoff {
	c := &cutoff{measure: k.x, desc: k.desc}
	if k.x.op == "negative" && k.x.compute != nil {
		c.measure, c.minus = k.x.args[0], true
	}
	if c.measure.near == nil || c.measure.compute == nil || k.nullsFirst {
		return nil
	}
	own := *c.measure
	own.args = slices.Clone(own.args)
	for i, a := range own.args {
		if a.constant() {
			wide := *a
			wide.value = array.Sought(a.value)
			own.args[i] = &wide
		}
	}
	c.measure = &own
	c.bits.Store(math.Float64bits(math.NaN()))
	return c
}

// value is NaN as long as nobody knows.
func (c *cutoff) value() float64 { return math.Float64frombits(c.bits.Load()) }

// move says that there are rows enough that are not behind v.
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

// within is the first key of rows of a frame, for as long as its worker does not ask again: rows that are behind cut may have
// any value that is behind it as well. nil: the key has to be computed as others are, which also says what is wrong.
func (b *best) within(f *frame) (v *array.Column, cut any) {
	if b.cut == nil {
		return nil, nil
	}
	c := b.cut
	at := c.value()
	if at != at || f.knows(c.measure) {
		return nil, nil
	}
	l := array.Limit{At: at, Above: !c.desc}
	if c.minus {
		l = array.Limit{At: -at, Above: c.desc}
	}
	if len(f.w.room) < 2*f.n {
		f.w.room = make([]float64, 2*f.n)
	}
	l.Room = f.w.room
	n := *c.measure
	n.id = unknown
	n.compute = func(_ *frame, args []*array.Column) (*array.Column, error) {
		v, err := n.near(args, l)
		if err == nil { // of several pieces each has its own
			l.Room = l.Room[min(len(l.Room), 2*v.N):]
		}
		return v, err
	}
	v, err := f.compute(&n)
	if err == nil && c.minus {
		v, err = array.Neg(v)
	}
	if err != nil || v.N != f.n {
		return nil, nil
	}
	return v, at
}

// unknown is the id of a node whose values nobody else wants.
const unknown = -1

// knows reports whether the values of a node are there already.
func (f *frame) knows(n *node) bool {
	return f.memo[n.id] != nil || f.parent != nil && f.parent.memo[n.id] != nil
}
