package dataset

import (
	"context"
	"math"

	"deeplake/core/format"
	"deeplake/core/read"
	"deeplake/core/tensor"
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

// mostZones bounds the zones of a view with a list of rows. More zones would cost as much as the
// rows. One unknown zone covers the rest.
const mostZones = 1 << 16

// Zones returns the map's ranges for the view's positions [from, to), without a gap. It reads no
// chunk.
func (c *Column) Zones(ctx context.Context, from, to int64) ([]Zone, error) {
	v := c.view
	from, to = max(from, 0), min(to, v.n)
	if from >= to {
		return nil, nil
	}
	z := zoner{c: c, plain: v.list == nil && v.step == 1}
	if z.plain {
		at := from
		var err error
		v.snap.Live.Runs(v.live(from), v.live(to-1)+1, func(a, b int64) {
			if err == nil {
				err = z.run(ctx, at, a, b)
				at += b - a
			}
		})
		return z.out, err
	}
	for i := from; i < to; i++ {
		if len(z.out) > mostZones {
			return append(z.out, Zone{From: i, To: to}), nil
		}
		if row := v.live(i); row < 0 {
			z.add(Zone{From: i, To: i + 1, Hole: true}, nil)
		} else if row = v.snap.Live.Physical(row); z.known != nil && row >= z.known.Row && row < z.known.Row+z.known.Rows {
			z.add(Zone{From: i, To: i + 1}, z.known)
		} else if err := z.run(ctx, i, row, row+1); err != nil {
			return nil, err
		}
	}
	return z.out, nil
}

// zoner makes zones.
type zoner struct {
	c     *Column
	plain bool // rows follow each other in the dataset
	out   []Zone
	known *format.Entry // of the last zone
}

// run adds physical rows [from, to), the first of which is at position at.
func (z *zoner) run(ctx context.Context, at, from, to int64) error {
	shift := at - from
	err := z.c.tree.Scan(ctx, from, to, func(e format.Entry) bool {
		if e.Row > from {
			z.add(Zone{From: from + shift, To: e.Row + shift, Hole: true}, nil)
			from = e.Row
		}
		end := min(to, e.Row+e.Rows)
		z.add(Zone{From: from + shift, To: end + shift}, &e)
		from = end
		return true
	})
	if err == nil && from < to {
		z.add(Zone{From: from + shift, To: to + shift, Hole: true}, nil)
	}
	return err
}

// add appends a zone of rows of an entry, nil being none. Rows of the same one follow each other in
// one zone.
func (z *zoner) add(n Zone, e *format.Entry) {
	bytes := 0.0
	if e != nil {
		bytes = float64(e.Bytes) * float64(n.To-n.From) / float64(e.Rows)
	}
	if k := len(z.out) - 1; k >= 0 && (e == nil && z.out[k].Hole || e != nil && z.known != nil && e.Row == z.known.Row && !z.out[k].Hole) {
		z.out[k].To = n.To
		z.out[k].Bytes += bytes
		return
	}
	if e != nil {
		n.Known, n.Stats, n.Bytes = true, e.Stats, bytes
		own := *e
		if e = &own; z.plain {
			n.entry = e
		}
	}
	z.known = e
	z.out = append(z.out, n)
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
