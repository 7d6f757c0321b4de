package dataset

import (
	"context"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
)

// lookupsInFlight is how many runs of rows are looked up at once: their index pages are small, so
// that latency counts.
const lookupsInFlight = 32

// Remote reports whether reads are requests over a network, so that it pays to read ahead in large
// pieces.
func (v *View) Remote() bool {
	return storage.Remote(v.d.store)
}

// Traffic is what the store has done since it was opened.
func (v *View) Traffic() storage.Stats { return storage.StatsOf(v.d.store) }

// StoredBytes estimates the size of the view's rows in this tensor, as stored.
func (c *Column) StoredBytes() int64 {
	rec := c.view.snap.Record
	if rec.Rows == 0 {
		return 0
	}
	return int64(float64(rec.Columns[c.ct.schema.ID].Bytes) * float64(c.view.n) / float64(rec.Rows))
}

// Prefetch says which bytes reading runs of rows takes; each run is the first row and the one
// behind the last, as positions in the view. It reads the index pages of many runs at once, and
// keeps them for Resolve. The spans of rows come in their order, may overlap, and are those of
// large pieces where rows follow each other. Rows outside of the view have none. What cannot be
// found is left out: the first error comes along with the others' spans.
func (c *Column) Prefetch(ctx context.Context, runs [][2]int64) ([]chunk.Span, error) {
	rows := c.physical(runs)
	found, err := inGroups(ctx, len(rows), func(ctx context.Context, from, to int, out []held) ([]held, error) {
		return c.entries(ctx, rows[from:to], out)
	})
	spans, damage := inGroups(ctx, len(found), func(ctx context.Context, from, to int, out []chunk.Span) ([]chunk.Span, error) {
		return c.spans(ctx, found[from:to], out)
	})
	if err == nil {
		err = damage
	}
	if ctx.Err() != nil {
		err = errs.Wrap(errs.Canceled, "find samples", "", context.Cause(ctx))
	}
	return spans, err
}

// inGroups cuts n things into groups, gives each to fn in a goroutine of its own, and joins what
// they make in order. The error is the first one; it does not keep the other groups from their end.
func inGroups[T any](ctx context.Context, n int, fn func(ctx context.Context, from, to int, out []T) ([]T, error)) ([]T, error) {
	groups := min(n, lookupsInFlight)
	if groups < 2 {
		return fn(ctx, 0, n, nil)
	}
	made, failed := make([][]T, groups), make([]error, groups)
	g := task.New(ctx, 0)
	for i := range groups {
		g.Go(func(ctx context.Context) error {
			made[i], failed[i] = fn(ctx, i*n/groups, (i+1)*n/groups, nil)
			return nil
		})
	}
	err := g.Wait() // of a panic
	for _, f := range failed {
		if err == nil {
			err = f
		}
	}
	return slices.Concat(made...), err
}

// physical cuts runs of the view where the rows of the dataset do not follow each other, and joins
// those that do.
func (c *Column) physical(runs [][2]int64) [][2]int64 {
	var out [][2]int64
	add := func(from, to int64) {
		if n := len(out) - 1; n >= 0 && out[n][1] == from {
			out[n][1] = to
			return
		}
		out = append(out, [2]int64{from, to})
	}
	v := c.view
	for _, r := range runs {
		from, to := max(r[0], 0), min(r[1], v.n)
		if from < to && v.list == nil && v.step == 1 {
			a, b := v.snap.Live.Physical(v.live(from)), v.snap.Live.Physical(v.live(to-1))
			if b-a == to-1-from {
				add(a, b+1)
				continue
			}
		}
		for ; from < to; from++ {
			if v.live(from) < 0 {
				continue
			}
			row := v.snap.Live.Physical(v.live(from))
			add(row, row+1)
		}
	}
	return out
}

// held is rows of the dataset that one entry of the map covers.
type held struct {
	entry    format.Entry
	from, to int64
}

// entries appends what covers the runs of rows. Rows whose entry cannot be found are left out.
func (c *Column) entries(ctx context.Context, runs [][2]int64, out []held) ([]held, error) {
	var first error
	for _, r := range runs {
		from := r[0]
		if n := len(out) - 1; n >= 0 {
			// Single rows of one chunk follow each other where a view has an order of its own.
			if e := &out[n].entry; from >= e.Row && r[1] <= e.Row+e.Rows {
				out = append(out, held{entry: *e, from: from, to: r[1]})
				continue
			}
		}
		err := c.tree.Scan(ctx, from, r[1], func(e format.Entry) bool {
			out = append(out, held{entry: e, from: max(from, e.Row), to: min(r[1], e.Row+e.Rows)})
			return true
		})
		if err != nil && first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return out, first
}

// spans appends what reading rows takes. Rows whose chunk cannot be found are left out.
func (c *Column) spans(ctx context.Context, rows []held, out []chunk.Span) ([]chunk.Span, error) {
	var first error
	for i := range rows {
		if ctx.Err() != nil {
			break
		}
		var err error
		if out, err = c.spansOf(ctx, &rows[i], out); err != nil && first == nil {
			first = err
		}
	}
	return out, first
}

func (c *Column) spansOf(ctx context.Context, h *held, out []chunk.Span) ([]chunk.Span, error) {
	chunks := c.view.d.chunks
	for k := range h.entry.Tiles {
		t, err := chunks.get(ctx, c.tree, &h.entry, k)
		if err != nil {
			return out, err
		}
		out = t.Spans(0, t.Index.Items(), out)
	}
	if h.entry.Tiles > 0 {
		return out, nil
	}
	ch, err := chunks.get(ctx, c.tree, &h.entry, 0)
	if err != nil {
		return out, err
	}
	x := ch.Index
	first := h.entry.First + h.from - h.entry.Row
	last := first + h.to - h.from - 1
	if first < 0 || last >= x.Rows() {
		return out, beyond(ch, last, x.Rows())
	}
	item, _ := x.RowItemsRange(first)
	end, n := x.RowItemsRange(last)
	return ch.Spans(item, end+n-item, out), nil
}
