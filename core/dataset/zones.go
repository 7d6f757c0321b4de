package dataset

import (
	"context"
	"math"
	"slices"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/read"
	"deeplake/core/tensor"
	"deeplake/core/version"
	"deeplake/core/version/chunkmap"
)

// Zone is consecutive rows of a view, and the facts of the map about their samples.
type Zone struct {
	From, To int64 // positions in the view
	Hole     bool  // no row has a sample
	Known    bool  // Stats cover all samples; otherwise nothing is known
	Stats    format.Stats
	Bytes    float64 // as stored, about

	entry *format.Entry // of rows that follow each other in the dataset; nil: of none
}

// Zones returns the map's ranges for the view's positions [from, to), without a gap. It reads no
// chunk. Where scattered updates have mixed the rows of few chunks, one zone has the bounds of all.
func (c *Column) Zones(ctx context.Context, from, to int64) ([]Zone, error) {
	v := c.view
	from, to = max(from, 0), min(to, v.n)
	if from >= to {
		return nil, nil
	}
	z := zoner{c: c, plain: v.list == nil && v.step == 1, live: &v.snap.Live, walk: chunkmap.NewWalker(c.tree)}
	at, low, high, ok := v.positions(from, to)
	if !ok {
		return z.list(ctx, from, to)
	}
	z.at = at
	for low < high {
		var err error
		if low, err = z.next(ctx, low, high); err != nil {
			return nil, err
		}
		// Not every row is one of the view.
		switch p := at(low); {
		case v.list == nil && v.step < 0 && p > from:
			low = v.live(p - 1)
		case (v.list != nil || v.step > 0) && p < to:
			low = v.live(p)
		default:
			low = high
		}
	}
	if v.step < 0 && v.list == nil {
		slices.Reverse(z.out)
	}
	return z.out, nil
}

// positions describes positions [from, to) of a view whose rows rise or fall. Their rows lie in
// [low, high). at returns the first position of a row that is not below the given one. If rows
// fall, it returns the position behind the last of such rows. ok is false for any other order.
func (v *View) positions(from, to int64) (at func(row int64) int64, low, high int64, ok bool) {
	first, last := v.live(from), v.live(to-1)
	switch {
	case v.list != nil:
		rows := v.list[from:to]
		at = func(row int64) int64 {
			i, _ := slices.BinarySearch(rows, row)
			return from + int64(i)
		}
		return at, first, last + 1, first >= 0 && slices.IsSorted(rows)
	case v.step > 0:
		return func(row int64) int64 { return min(max(from+(row-first+v.step-1)/v.step, from), to) }, first, last + 1, true
	}
	at = func(row int64) int64 {
		if row > first {
			return from
		}
		return min(from+(first-row)/-v.step+1, to)
	}
	return at, last, first + 1, true
}

// mostZones bounds the zones of a view whose rows do not rise. More zones would cost as much as the
// rows. One unknown zone covers the rest.
const mostZones = 1 << 16

// zoner makes zones.
type zoner struct {
	c     *Column
	plain bool // rows follow each other in the dataset
	live  *version.RowMap
	walk  chunkmap.Walker
	at    func(row int64) int64 // see View.positions
	out   []Zone
	known any // the entry or the leaf of the last zone
}

// list returns the zones of positions [from, to), whose rows are in any order.
func (z *zoner) list(ctx context.Context, from, to int64) ([]Zone, error) {
	row := int64(0) // of position from
	z.at = func(r int64) int64 { return from + min(r-row, 1) }
	for ; from < to; from++ {
		if len(z.out) > mostZones {
			return append(z.out, Zone{From: from, To: to}), nil
		}
		if row = z.c.view.live(from); row < 0 {
			z.add(row, row+1, nil, 0)
		} else if _, err := z.next(ctx, row, row+1); err != nil {
			return nil, err
		}
	}
	return z.out, nil
}

// next adds the rows from row on that lie together, and returns the one behind them, at most end.
func (z *zoner) next(ctx context.Context, row, end int64) (int64, error) {
	x, place, behind, moved, err := z.walk.Seek(ctx, z.live.Physical(row))
	if err != nil {
		return 0, err
	}
	if moved && ctx.Err() != nil {
		return 0, errs.Cause(ctx, "read zones")
	}
	mixed := place >= 0 && x.Mixed()
	if mixed {
		behind = x.Rows[len(x.Rows)-1]
	}
	if behind < math.MaxInt64 {
		end = min(z.live.Logical(behind), end)
	}
	switch {
	case mixed:
		z.mixed(row, end, x)
	case place < 0 || x.Refs[place] == chunkmap.NoSample:
		z.add(row, end, nil, 0)
	default:
		z.add(row, end, &x.Chunks[x.Refs[place]], x.Held[x.Refs[place]])
	}
	return end, nil
}

// zone appends a zone of rows [row, end), or joins them to the last one if both are of the same. It
// returns nil if nothing is left to say: the last zone has them, or the view has none of them.
func (z *zoner) zone(row, end int64, of any, bytes float64) *Zone {
	from, to := z.at(row), z.at(end)
	if from > to { // positions fall
		from, to = to, from
	}
	if from == to {
		return nil
	}
	bytes *= float64(to - from)
	if k := len(z.out) - 1; k >= 0 && z.known == of {
		l := &z.out[k]
		l.From, l.To, l.Bytes = min(l.From, from), max(l.To, to), l.Bytes+bytes
		return nil
	}
	z.known = of
	z.out = append(z.out, Zone{From: from, To: to, Bytes: bytes})
	return &z.out[len(z.out)-1]
}

// add adds rows of the chunk of an entry, of which it holds so many; nil is no chunk.
func (z *zoner) add(row, end int64, e *format.Entry, held int64) {
	if e == nil {
		if n := z.zone(row, end, e, 0); n != nil {
			n.Hole = true
		}
		return
	}
	if n := z.zone(row, end, e, float64(e.Bytes)/float64(held)); n != nil {
		n.Known, n.Stats = true, e.Stats
		if z.plain {
			n.entry = e
		}
	}
}

// mixed adds rows that lie in the chunks of a leaf.
func (z *zoner) mixed(row, end int64, x *chunkmap.Leaf) {
	stored, _ := z.c.SampleBytes()
	n := z.zone(row, end, x, stored)
	if n == nil {
		return
	}
	n.Known, n.Stats = true, x.Chunks[0].Stats
	for i := range x.Chunks[1:] {
		n.Stats = union(z.c.ct.dtype, n.Stats, x.Chunks[1+i].Stats)
	}
}

// zones returns the zones of all rows for readers that know no chunk maps. Nil: there are too many.
func (c *Column) zones(ctx context.Context) ([]read.Zone, error) {
	all, err := c.Zones(ctx, 0, c.view.n)
	if err != nil {
		return nil, err
	}
	out := make([]read.Zone, len(all))
	for i := range all {
		z := &all[i]
		if !z.Known && !z.Hole {
			return nil, nil
		}
		out[i] = read.Zone{From: z.From, To: z.To, Hole: z.Hole, Bytes: int64(z.Bytes)}
		if !z.Stats.HasRange {
			continue
		}
		out[i].Bounded = true
		out[i].Min, out[i].Max = numberOf(c.ct.dtype, z.Stats.Min), numberOf(c.ct.dtype, z.Stats.Max)
		if z.entry != nil {
			out[i].Attained = func(ctx context.Context) (bool, error) { return c.covers(ctx, z) }
		}
	}
	return out, nil
}

// covers reports whether the rows of z are all rows of their chunk. Deletions and updates leave a
// chunk with fewer rows, and with the statistics of all.
func (c *Column) covers(ctx context.Context, z *Zone) (bool, error) {
	e := z.entry
	if e.First != 0 || z.To-z.From != e.Rows {
		return false, nil
	}
	ch, err := c.chunk(ctx, e, 0)
	if err != nil {
		return false, err
	}
	return ch.Index.Rows() == e.Rows, nil
}

// union returns the bounds of samples of dtype d that either statistics bound.
func union(d tensor.DType, a, b format.Stats) format.Stats {
	out := format.Stats{HasRange: a.HasRange && b.HasRange}
	if out.HasRange {
		out.Min, out.Max = a.Min, a.Max
		if below(d, b.Min, a.Min) {
			out.Min = b.Min
		}
		if below(d, a.Max, b.Max) {
			out.Max = b.Max
		}
	}
	if len(a.MinShape) != len(b.MinShape) || a.MinShape == nil || b.MinShape == nil {
		return out
	}
	out.MinShape, out.MaxShape = a.MinShape.Clone(), a.MaxShape.Clone()
	for i := range out.MinShape {
		out.MinShape[i], out.MaxShape[i] = min(out.MinShape[i], b.MinShape[i]), max(out.MaxShape[i], b.MaxShape[i])
	}
	return out
}

// below compares numbers of statistics.
func below(d tensor.DType, a, b uint64) bool {
	switch {
	case d == tensor.Float32 || d == tensor.Float64:
		return math.Float64frombits(a) < math.Float64frombits(b)
	case d >= tensor.Int8 && d <= tensor.Int64:
		return int64(a) < int64(b)
	}
	return a < b
}

// numberOf returns a number of statistics.
func numberOf(d tensor.DType, bits uint64) float64 {
	switch {
	case d == tensor.Float32 || d == tensor.Float64:
		return math.Float64frombits(bits)
	case d >= tensor.Int8 && d <= tensor.Int64:
		return float64(int64(bits))
	}
	return float64(bits)
}

// Bounds returns the least and the greatest size of each axis over all samples of the tensor in
// this version; nil when samples have no shape, differ in the number of axes, or there are none. It
// reads no chunk.
func (c *Column) Bounds(ctx context.Context) (least, most tensor.Shape, err error) {
	if col, ok := c.view.snap.Record.Columns[c.ct.schema.ID]; ok && !c.view.dirty && col.MinShape != nil && col.MinShape.Equal(col.MaxShape) {
		return col.MinShape, col.MaxShape, nil // of all samples ever written, hence of these
	}
	mixed := false
	err = c.tree.Scan(ctx, 0, format.MaxRows, func(e format.Entry) bool {
		s := &e.Stats
		if mixed = s.MinShape == nil || most != nil && len(most) != len(s.MinShape); mixed {
			return false
		}
		if most == nil {
			least, most = s.MinShape.Clone(), s.MaxShape.Clone()
		}
		for i := range most {
			least[i], most[i] = min(least[i], s.MinShape[i]), max(most[i], s.MaxShape[i])
		}
		return true
	})
	if mixed || err != nil {
		return nil, nil, err
	}
	return least, most, nil
}

// Empty reports whether the map alone shows that no row has a sample.
func (c *Column) Empty() bool { return c.tree.Root().Page.IsZero() }
