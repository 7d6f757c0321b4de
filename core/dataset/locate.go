package dataset

import (
	"context"
	"math"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/read"
)

var _ read.Map = (*Column)(nil)

// tiles returns the chunks of an oversized sample.
func (c *Column) tiles(ctx context.Context, row int64, e *format.Entry) ([]*chunk.Chunk, error) {
	tiles := make([]*chunk.Chunk, e.Tiles)
	for k := range e.Tiles {
		t, err := c.chunk(ctx, e, k)
		if err != nil {
			return nil, err
		}
		if t.Index.Tile() == nil || t.Index.Tile().Index != k {
			return nil, errs.Op("read chunk", t.Key).New(errs.Corrupt, "it is not tile %d of the sample in row %d", k, row)
		}
		tiles[k] = t
	}
	tile := tiles[0].Index.Tile()
	if n := chunk.Tiles(tile.Sample, tile.Tile); n != e.Tiles {
		return nil, errs.Op("read chunk", tiles[0].Key).New(errs.Corrupt, "the sample has %d tiles, the map says %d", n, e.Tiles)
	}
	return tiles, nil
}

// Split implements read.Map.
func (c *Column) Split(ctx context.Context, runs, out [][2]int64) ([][2]int64, error) {
	var first error
	var e format.Entry // of the last run
	for _, r := range runs {
		if r[0] < 0 {
			continue
		}
		row := r[0]
		c.view.snap.Live.Runs(r[0], r[1], func(from, to int64) {
			shift := from - row
			row += to - from
			// Single rows of one chunk follow each other if a view has an order of its own.
			if from >= e.Row && to <= e.Row+e.Rows {
				out = append(out, [2]int64{from - shift, to - shift})
				return
			}
			err := c.tree.Scan(ctx, from, to, func(next format.Entry) bool {
				e = next
				out = append(out, [2]int64{max(from, e.Row) - shift, min(to, e.Row+e.Rows) - shift})
				return true
			})
			if err != nil && first == nil {
				first = err
			}
		})
		if ctx.Err() != nil {
			break
		}
	}
	return out, first
}

// Resolve finds rows of the view and fills refs, len(refs) == len(rows). It reads index pages,
// never samples.
func (c *Column) Resolve(ctx context.Context, rows []int64, refs []chunk.Ref) error {
	l := read.NewLocator(c)
	for i, row := range rows {
		if row < 0 || row >= c.view.n {
			return outOfRange(row, c.view.n)
		}
		if err := l.Ref(ctx, c.view.live(row), &refs[i]); err != nil {
			return err
		}
	}
	return nil
}

// Locate appends the segments of runs of rows of the dataset, in their order. Each run is the first
// row and the one behind the last; run [-1, 0) has no sample. It reads index pages.
func (c *Column) Locate(ctx context.Context, runs [][2]int64, out []read.Segment) ([]read.Segment, error) {
	for _, r := range runs {
		if n := c.view.snap.Rows(); r[0] < -1 || r[1] > n {
			return out, outOfRange(r[1]-1, n)
		}
	}
	return read.Locate(ctx, c, runs, c.view.Remote(), out)
}

// gatherPlan plans a bulk read of rows of the view, in any order, repeats allowed. Returns nil if
// read.PlanGather does, or if a row is out of range: Resolve reports that.
func (c *Column) gatherPlan(ctx context.Context, rows []int64) (*chunk.GatherPlan, error) {
	if len(rows) == 0 || len(rows) > math.MaxInt32 || c.Sequence() || c.Encoded() || !c.ct.dtype.Fixed() {
		return nil, nil
	}
	live, v := make([]int64, len(rows)), c.view
	for i, row := range rows {
		if uint64(row) >= uint64(v.n) {
			return nil, nil
		}
		live[i] = v.live(row)
	}
	return read.PlanGather(ctx, c, c.ct.dtype, live)
}

// prefetch returns the bytes that reading runs of rows takes. Each run is the first row and the one
// behind the last, as positions in the view. Positions outside of the view have no bytes. It leaves
// index pages where Resolve finds them. See read.Spans.
func (c *Column) prefetch(ctx context.Context, runs [][2]int64) ([]chunk.Span, error) {
	return read.Spans(ctx, c, c.view.lives(runs))
}

// lives returns the rows of the dataset at runs of positions, as runs. It leaves out missing rows.
func (v *View) lives(runs [][2]int64) (out [][2]int64) {
	add := func(from, to int64) {
		if n := len(out) - 1; n >= 0 && out[n][1] == from {
			out[n][1] = to
			return
		}
		out = append(out, [2]int64{from, to})
	}
	for _, r := range runs {
		from, to := max(r[0], 0), min(r[1], v.n)
		if from < to && v.list == nil && v.step == 1 {
			add(v.live(from), v.live(to-1)+1)
			continue
		}
		for ; from < to; from++ {
			if row := v.live(from); row >= 0 {
				add(row, row+1)
			}
		}
	}
	return out
}

// probedRows are the rows whose chunks show how much larger the blocks of a tensor are when
// decompressed.
const probedRows = 3

// unpacked is read.Access.Unpacked.
func (c *Column) unpacked(ctx context.Context) (int64, error) {
	if c.view.n == 0 {
		return 0, nil
	}
	var stored, unpacked int64
	f := c.finder()
	for i := range int64(probedRows) {
		row := c.view.live((c.view.n - 1) * i / (probedRows - 1))
		if row < 0 {
			continue
		}
		s, err := f.Segment(ctx, row, row+1)
		if err != nil {
			return 0, err
		}
		if s.Chunk != nil && s.Tiles == nil {
			a, b := s.Chunk.Packed()
			stored, unpacked = stored+a, unpacked+b
		}
	}
	if stored == 0 {
		return 0, nil
	}
	return int64(float64(c.StoredBytes()) * float64(unpacked) / float64(stored)), nil
}

// StoredBytes estimates the size of the view's rows in this tensor, as stored.
func (c *Column) StoredBytes() int64 {
	rec := c.view.snap.Record
	if rec.Rows == 0 {
		return 0
	}
	return int64(float64(rec.Columns[c.ct.schema.ID].Bytes) * float64(c.view.n) / float64(rec.Rows))
}
