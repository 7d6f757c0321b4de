package query

import (
	"slices"
	"strings"
	"sync/atomic"

	"deeplake/core/array"
	"deeplake/core/compute"
	"deeplake/core/compute/aggregate"
	"deeplake/core/errs"
	"deeplake/core/tensor"
	"deeplake/core/tql"
)

// grouping is GROUP BY, or aggregates of all rows. Each group is a row with computed extra columns.
type grouping struct {
	keys   []*node // of rows
	slots  []slot
	byID   map[int]int // slot of a node
	lifted map[*node]*node
	across string
	by     bool // GROUP BY was written
	whole  bool // lists have NULL too, so that UNGROUP BY finds the items of a row at one place
}

// slot is one extra column: a key, or an aggregate. LIST holds the values of all rows of the group.
type slot struct {
	key   int // of keys; -1
	agg   *aggregateCall
	space bool // lists are joined to one array
	t     array.Type
}

func newGrouping(keys []*node, across string, by bool) *grouping {
	g := &grouping{keys: keys, byID: map[int]int{}, lifted: map[*node]*node{}, across: across, by: by}
	for i, k := range keys {
		if _, ok := g.byID[k.id]; !ok {
			g.byID[k.id] = len(g.slots)
			g.slots = append(g.slots, slot{key: i, t: k.t})
		}
	}
	return g
}

// lift makes of an expression over rows one over groups.
func (c *checker) lift(g *grouping, n *node) (*node, error) {
	if at, ok := g.byID[n.id]; ok {
		return g.extra(n, at), nil
	}
	if key := g.ofKey(n); key >= 0 {
		// Index pages answer this for rows; for groups it is computed.
		of := g.extra(n, key)
		return c.apply(n.at, n.say, n.t, cheap, []*node{of}, func(w *array.Work, a []*array.Column) (*array.Column, error) {
			if n.ref.want == Nulls {
				return compute.IsNull(a[0]), nil
			}
			return compute.Find("SHAPE").Call(w, a)
		})
	}
	switch {
	case n.constant(), n.bound > 0:
		return n, nil
	case n.agg != nil:
		return g.add(n, slot{key: -1, agg: n.agg, t: n.t}), nil
	case n.ref != nil:
		if !g.by {
			return nil, c.fail(n.at, "%s is of each row, next to an aggregate of all rows; aggregate it as well, or group by it", n.say)
		}
		t := n.t
		if t.List {
			return nil, c.fail(n.at, "%s is a list in each row, and a group of lists is none; UNGROUP BY SPLIT first", n.say)
		}
		space := g.across == "SPACE"
		if t.List = true; space {
			t = spaceType(n.t)
		}
		return g.add(n, slot{key: -1, agg: &aggregateCall{name: "LIST", arg: n, t: t}, t: t, space: space}), nil
	case n.also != nil:
		return nil, c.fail(n.at, "%s: DATA has no place next to groups", n.say)
	}
	if seen := g.lifted[n]; seen != nil {
		return seen, nil
	}
	out := *n
	out.args = make([]*node, len(n.args))
	changed := false
	for i, a := range n.args {
		var err error
		if out.args[i], err = c.lift(g, a); err != nil {
			return nil, err
		}
		changed = changed || !sameType(out.args[i].t, a.t)
	}
	if changed {
		name, _, call := strings.Cut(n.say, "(")
		if call && slices.Contains(aggregate.Names(), name) {
			return nil, c.fail(n.at, "%s is of the array in each row; aggregate what it gives over the rows, as in %s(%s)", n.say, name, n.say)
		}
		return nil, c.fail(n.at, "%s is computed of each row, and is neither grouped by nor an aggregate; group by it, or aggregate", n.say)
	}
	out.id = c.intern("of groups ", n.id)
	g.lifted[n] = &out
	return &out, nil
}

// ofKey returns the key of which a node reads NULL or the shape; -1: the node reads neither.
func (g *grouping) ofKey(n *node) int {
	if n.ref == nil || n.ref.want != Nulls && n.ref.want != Shapes {
		return -1
	}
	for i, s := range g.slots {
		if s.key < 0 {
			continue
		}
		if k := g.keys[s.key]; k.ref != nil && k.ref.want == Values && k.ref.part == nil && k.ref.origin == n.ref.origin && k.ref.column == n.ref.column {
			return i
		}
	}
	return -1
}

func sameType(a, b array.Type) bool {
	return a.DType == b.DType && a.Dims == b.Dims && a.List == b.List
}

func (g *grouping) add(n *node, s slot) *node {
	g.byID[n.id] = len(g.slots)
	g.slots = append(g.slots, s)
	return g.extra(n, len(g.slots)-1)
}

func (g *grouping) extra(n *node, at int) *node {
	return &node{at: n.at, id: -1000000 - at, t: g.slots[at].t, extra: at, size: n.size, say: n.say}
}

// spaceType returns the type of arrays of type t joined along their first axis.
func spaceType(t array.Type) array.Type {
	out := t
	switch {
	case t.Dims == 0:
		out.Dims, out.Shape = 1, tensor.Shape{-1}
	case t.Shape != nil && t.Dims > 0:
		out.Shape = t.Shape.Clone()
		out.Shape[0] = -1
	}
	return out
}

// groups numbers the groups found so far, in order of appearance.
type groups struct {
	keys [][]*array.Column // of each key: the values of new groups, batch by batch
	n    int

	bytes map[string]int32
	buf   []byte

	// Instead of bytes, with one key that is an integer.
	whole bool
	few   []int32 // of small values: the number, plus 1
	ints  map[int64]int32
	null  int32 // plus 1
}

func newGroups(keys []*node) *groups {
	g := &groups{keys: make([][]*array.Column, len(keys))}
	if g.whole = len(keys) == 1 && array.Whole(keys[0].t); g.whole {
		g.few, g.ints = make([]int32, fewInts), map[int64]int32{}
	} else {
		g.bytes = map[string]int32{}
	}
	return g
}

// number gives each row its group.
func (g *groups) number(cols []*array.Column, n int) []int32 {
	out := make([]int32, n)
	var fresh []int
	if g.whole {
		fresh = g.numberInts(out, cols[0])
		g.keep(cols, fresh)
		return out
	}
	for i := range n {
		g.buf = g.buf[:0]
		for _, c := range cols {
			g.buf = array.AppendKey(g.buf, c, i)
		}
		id, seen := g.bytes[string(g.buf)]
		if !seen {
			id = int32(g.n)
			g.n++
			g.bytes[string(g.buf)] = id
			fresh = append(fresh, i)
		}
		out[i] = id
	}
	g.keep(cols, fresh)
	return out
}

// fewInts bounds integer keys that index a table directly: labels, bytes, days of a year.
const fewInts = 1 << 12

// numberInts is number for one key that is an integer. It returns the rows that begin a group.
func (g *groups) numberInts(out []int32, c *array.Column) (fresh []int) {
	values, null := array.Ints(c)
	begin := func(i int) int32 {
		fresh = append(fresh, i)
		g.n++
		return int32(g.n - 1)
	}
	for i, v := range values {
		switch {
		case null != nil && null[i]:
			if g.null == 0 {
				g.null = begin(i) + 1
			}
			out[i] = g.null - 1
		case uint64(v) < fewInts:
			if g.few[v] == 0 {
				g.few[v] = begin(i) + 1
			}
			out[i] = g.few[v] - 1
		default:
			id, seen := g.ints[v]
			if !seen {
				id = begin(i)
				g.ints[v] = id
			}
			out[i] = id
		}
	}
	return fresh
}

func (g *groups) keep(cols []*array.Column, rows []int) {
	if len(rows) == 0 {
		return
	}
	for k, c := range cols {
		g.keys[k] = append(g.keys[k], c.Take(rows))
	}
}

// partial is the state of the groups of one unit.
type partial struct {
	groups *groups
	aggs   []aggregate.Aggregator
	began  bool
	held   int64 // bytes that aggs keep
}

// run makes the rel of the groups, in order of their first rows.
func (g *grouping) run(r *run, src flow) (*rel, error) {
	weight := weightOf(g.needs())
	// each is changed by the goroutine of its unit alone
	parts := make([]partial, src.units(r, weight))
	passing := g.passing()
	err := src.each(r, weight, nil, func(unit int, f *frame) error {
		err := g.take(&parts[unit], f)
		if passing && err == nil {
			f.recycle()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	total := partial{}
	if err := g.begin(&total); err != nil {
		return nil, err
	}
	for i := range parts { // in order, so that sums of floats do not depend on timing
		if parts[i].began {
			if err := g.merge(r, &total, &parts[i]); err != nil {
				return nil, err
			}
			parts[i] = partial{}
		}
	}
	return g.result(r, &total)
}

// needs returns the expressions that are computed for rows.
func (g *grouping) needs() []*node {
	all := slices.Clone(g.keys)
	for _, s := range g.slots {
		if s.agg != nil && s.agg.arg != nil {
			all = append(all, s.agg.arg)
		}
	}
	return all
}

// passing reports whether no aggregate keeps the columns it is given.
func (g *grouping) passing() bool {
	return !slices.ContainsFunc(g.slots, func(s slot) bool {
		if s.agg == nil {
			return s.key < 0 // a list
		}
		return !s.agg.passes()
	})
}

// weightOf returns the weight of one row of several expressions.
func weightOf(nodes []*node) float64 {
	total := 0.0
	for _, n := range nodes {
		total += n.weight()
	}
	return total
}

func (g *grouping) begin(p *partial) error {
	p.began, p.groups = true, newGroups(g.keys)
	if len(g.keys) == 0 {
		p.groups.n = 1
	}
	for _, s := range g.slots {
		if s.agg == nil {
			p.aggs = append(p.aggs, nil)
			continue
		}
		t := array.Of(tensor.Bool)
		if s.agg.arg != nil {
			t = s.agg.arg.t
		}
		a, err := s.agg.aggregator(t)
		if err != nil {
			return err
		}
		p.aggs = append(p.aggs, a)
	}
	return nil
}

// take adds the rows of a batch to the state of its unit.
func (g *grouping) take(p *partial, f *frame) error {
	if !p.began {
		if err := g.begin(p); err != nil {
			return err
		}
	}
	var group []int32
	if len(g.keys) > 0 {
		cols := make([]*array.Column, len(g.keys))
		for i, k := range g.keys {
			v, err := f.borrow(k)
			if err != nil {
				return err
			}
			cols[i] = v
		}
		before := p.groups.n
		group = p.groups.number(cols, f.n)
		if err := f.run.hold(int64(p.groups.n-before) * 64); err != nil {
			return err
		}
	}
	for i, s := range g.slots {
		if p.aggs[i] == nil {
			continue
		}
		v := array.Constant(array.Of(tensor.Bool), true, f.n)
		if s.agg.arg != nil {
			eval := f.eval
			if s.agg.passes() {
				eval = f.borrow
			}
			var err error
			if v, err = eval(s.agg.arg); err != nil {
				return err
			}
		}
		if err := p.aggs[i].Add(v, group, p.groups.n); err != nil {
			return placed(f.run.text, s.agg.at(), err)
		}
	}
	return f.run.hold(p.grown())
}

// grown is the number of bytes that the aggregates keep more than at its last call.
func (p *partial) grown() int64 {
	before := p.held
	p.held = 0
	for _, a := range p.aggs {
		if k, ok := a.(aggregate.Keeper); ok {
			p.held += k.Held()
		}
	}
	return p.held - before
}

func (a *aggregateCall) at() tql.Pos {
	if a.arg != nil {
		return a.arg.at
	}
	return tql.Pos{Line: 1, Column: 1}
}

// merge adds the state of a unit to the total.
func (g *grouping) merge(r *run, total, p *partial) error {
	var to []int32
	if len(g.keys) == 0 {
		to = []int32{0}
	} else {
		cols := make([]*array.Column, len(g.keys))
		for k := range cols {
			c, err := r.concat(g.keys[k].t, p.groups.keys[k])
			if err != nil {
				return err
			}
			cols[k] = c
		}
		to = total.groups.number(cols, p.groups.n)
	}
	for i, a := range p.aggs {
		if a == nil {
			continue
		}
		if err := total.aggs[i].Merge(a, to); err != nil {
			return placed(r.text, g.slots[i].agg.at(), err)
		}
	}
	return r.alive()
}

// result makes the rel.
func (g *grouping) result(r *run, total *partial) (*rel, error) {
	n := total.groups.n
	out := &rel{n: n, extra: make([]*array.Column, len(g.slots))}
	if err := out.stand(r); err != nil {
		return nil, err
	}
	for i, s := range g.slots {
		v, err := g.column(r, total, i)
		if err != nil && s.agg != nil {
			err = placed(r.text, s.agg.at(), err)
		}
		if err != nil {
			return nil, err
		}
		if v.N < n {
			return nil, errs.New(errs.Internal, "group: %d values of %d groups", v.N, n)
		}
		if v = v.Slice(0, n); s.space {
			if v, err = r.do("ACROSS SPACE", func(w *array.Work) (*array.Column, error) { return array.JoinItems(w, v) }); err != nil {
				return nil, placed(r.text, s.agg.at(), err)
			}
		}
		if v.List && !g.whole {
			v = withoutNull(v)
		}
		out.extra[i] = v
	}
	return out, nil
}

// withoutNull returns lists without their NULL items. A dataset cannot store these, and a list must
// be the same everywhere (except in a query with UNGROUP BY, see whole).
func withoutNull(c *array.Column) *array.Column {
	c = c.Expand()
	if c.Items == nil {
		return c
	}
	items := c.Items.Expand()
	kept, ends := make([]int, 0, items.N), make([]int, c.N)
	from := 0
	for i, end := range c.Ends {
		for at := from; at < end; at++ {
			if !items.IsNull(at) {
				kept = append(kept, at)
			}
		}
		from, ends[i] = end, len(kept)
	}
	if len(kept) == from {
		return c
	}
	out := array.FromLists(items.Take(kept), ends, c.Null)
	out.Type = c.Type
	return out
}

// column returns one column of the groups.
func (g *grouping) column(r *run, total *partial, i int) (*array.Column, error) {
	s := g.slots[i]
	if s.key >= 0 {
		return r.concat(s.t, total.groups.keys[s.key])
	}
	return r.do(s.agg.name, total.aggs[i].Result)
}

// computed returns an expression for all rows, in their order. It counts as memory of the query.
func computed(r *run, rows flow, x *node) (*array.Column, error) {
	weight := x.weight()
	parts := make([][]*array.Column, rows.units(r, weight))
	var held atomic.Int64
	err := rows.each(r, weight, nil, func(unit int, f *frame) error {
		v, err := f.eval(x)
		if err != nil {
			return err
		}
		parts[unit] = append(parts[unit], v)
		bytes, err := f.ledger.keep(v)
		held.Add(bytes)
		return err
	})
	if err != nil {
		return nil, err
	}
	all := slices.Concat(parts...)
	out, err := r.concat(x.t, all)
	if err == nil && len(all) > 1 {
		r.release(max(0, held.Load()-out.TextBytes())) // texts of the parts are those of the whole
	}
	return out, err
}
