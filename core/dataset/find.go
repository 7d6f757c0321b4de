package dataset

import (
	"context"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/read"
	"deeplake/core/version"
	"deeplake/core/version/chunkmap"
)

// finder finds rows of a column that mostly rise. It is for one goroutine.
type finder struct {
	c     *Column
	live  version.RowCursor
	walk  chunkmap.Walker
	known []knownChunk // of the leaf, by ref
}

// knownChunk is a chunk of a leaf.
type knownChunk struct {
	chunk  *chunk.Chunk // nil: it was not opened yet
	number int32        // in Found.Chunks, from 1 on
}

func (c *Column) finder() finder {
	return finder{c: c, live: c.view.snap.Live.Cursor(), walk: chunkmap.NewWalker(c.tree.Tree)}
}

// place is where consecutive rows of the dataset lie.
type place struct {
	end   int64         // the row behind the last one
	entry *format.Entry // of the chunk; nil: the rows have no sample
	known *knownChunk   // of the entry; of a sample in tiles, the first tile
	move  int64         // from a row to its place in the chunk
	shift int64         // from a row to its physical row
}

// find finds the place of a row.
func (f *finder) find(ctx context.Context, row int64) (p place, err error) {
	physical, behind := f.live.Run(row)
	p.shift = physical - row
	x, at, end, moved, err := f.walk.Seek(ctx, physical)
	if err != nil {
		return p, err
	}
	if moved {
		if ctx.Err() != nil {
			return p, errs.Cause(ctx, "find samples")
		}
		f.known = slices.Grow(f.known[:0], len(x.Chunks))[:len(x.Chunks)]
		clear(f.known)
	}
	p.end = min(end-p.shift, behind)
	if at < 0 || x.Refs[at] == chunkmap.NoSample {
		return p, nil
	}
	ref := x.Refs[at]
	p.entry, p.move = &x.Chunks[ref], p.shift+x.Items[at]-x.Rows[at]
	if p.known = &f.known[ref]; p.known.chunk == nil {
		p.known.chunk, err = f.c.chunk(ctx, p.entry, 0)
	}
	return p, err
}

// Seeker implements read.Map.
func (c *Column) Seeker() read.Seeker {
	f := c.finder()
	return &f
}

// Segment implements read.Seeker.
func (f *finder) Segment(ctx context.Context, row, end int64) (read.Segment, error) {
	s := read.Segment{Row: row, Rows: end - row}
	if row < 0 { // see SelectOrMissing
		return s, nil
	}
	p, err := f.find(ctx, row)
	if err != nil {
		return s, err
	}
	s.Rows = p.end - row
	if p.entry == nil {
		return s, nil
	}
	s.Chunk, s.First = p.known.chunk, row+p.move
	if p.entry.Tiles > 0 {
		s.First = 0
		s.Tiles, err = f.c.tiles(ctx, row, p.entry)
	}
	return s, err
}

// Segments implements read.Map.
func (c *Column) Segments(ctx context.Context, runs [][2]int64, out []read.Segment) ([]read.Segment, error) {
	f := c.finder()
	for _, r := range runs {
		for row := r[0]; row < r[1]; {
			s, err := f.Segment(ctx, row, r[1])
			if err != nil {
				return out, err
			}
			s.Rows = min(s.Rows, r[1]-row)
			row += s.Rows
			if out, err = s.Append(out); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// Find implements read.Map.
func (c *Column) Find(ctx context.Context, rows []int64, found *read.Found) error {
	found.Of = make([]int32, len(rows))
	f := c.finder()
	numbers := map[*chunk.Chunk]int32{} // of the chunks of other leaves
	for i := 0; i < len(rows); {
		p, err := f.find(ctx, rows[i])
		if err != nil {
			return err
		}
		number := int32(-1)
		if p.entry != nil {
			if found.Tiled = p.entry.Tiles > 0; found.Tiled {
				return nil
			}
			if p.known.number == 0 {
				if p.known.number = numbers[p.known.chunk]; p.known.number == 0 {
					found.Chunks = append(found.Chunks, p.known.chunk)
					p.known.number = int32(len(found.Chunks))
					numbers[p.known.chunk] = p.known.number
				}
			}
			number = p.known.number - 1
		}
		for ; i < len(rows) && rows[i] < p.end; i++ {
			found.Of[i] = number
			rows[i] += p.move
		}
	}
	return nil
}

// scatteredRows is the number of rows that lie together, in the mean, below which rows are
// scattered.
const scatteredRows = 512

// Scattered reports whether rows [from, to) of the dataset lie in many small pieces, as scattered
// deletions and updates leave them. It then pays to read them by GatherRows.
func (c *Column) Scattered(ctx context.Context, from, to int64) (bool, error) {
	f := c.finder()
	most := (to - from) / scatteredRows
	for n := int64(0); from < to; n++ {
		if n > most+1 {
			return true, nil
		}
		physical, behind := f.live.Run(from)
		_, _, end, _, err := f.walk.Seek(ctx, physical)
		if err != nil {
			return false, err
		}
		from = min(end-physical+from, behind)
	}
	return false, nil
}

// GatherRows plans a bulk read of rows of the dataset, as read.PlanGather does.
func (c *Column) GatherRows(ctx context.Context, rows []int64) (*chunk.GatherPlan, error) {
	return read.PlanGather(ctx, c, c.ct.dtype, rows)
}

// ItemsOf finds rows of the dataset, as read.PlanItems does.
func (c *Column) ItemsOf(ctx context.Context, rows []int64) (*chunk.GatherPlan, error) {
	return read.PlanItems(ctx, c, rows)
}
