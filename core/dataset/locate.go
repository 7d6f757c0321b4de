package dataset

import (
	"context"
	"math"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/dataset/pieces"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/read"
	"deeplake/core/tensor"
	"deeplake/core/version"
	"deeplake/core/version/chunkmap"
)

var _ read.Map = (*Column)(nil)

// finder finds rows of a column that mostly rise. It is for one goroutine.
type finder struct {
	c     *Column
	live  version.RowCursor
	walk  chunkmap.Walker
	known []knownChunk // of the leaf, by ref

	segments *chunkmap.Segments // of the leaf, where rows are deleted
	at       int                // the last one
}

// knownChunk is a chunk of a leaf.
type knownChunk struct {
	chunk  *chunk.Chunk // nil: it was not opened yet
	number int32        // in Found.Chunks, from 1 on
}

func (c *Column) finder() finder {
	return finder{c: c, live: c.view.snap.Live.Cursor(), walk: chunkmap.NewWalker(c.tree)}
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
		f.known = slices.Grow(f.known[:0], len(x.Chunks))[:len(x.Chunks)]
		clear(f.known)
		if ctx.Err() != nil {
			return p, errs.Cause(ctx, "find samples")
		}
	}
	if s := pieces.Live(x, at, &f.c.view.snap.Live); s != nil {
		if f.segments != s || s.Rows[f.at] > row {
			f.segments, f.at = s, 0
		}
		f.at = s.Seek(f.at, row)
		p.end = s.Rows[f.at+1]
		if ref := s.Refs[f.at]; ref != chunkmap.NoSample {
			err = f.open(ctx, &p, x, ref, s.Items[f.at]-s.Rows[f.at])
		}
		return p, err
	}
	p.end = min(end-p.shift, behind)
	if at < 0 || x.Refs[at] == chunkmap.NoSample {
		return p, nil
	}
	return p, f.open(ctx, &p, x, x.Refs[at], p.shift+x.Items[at]-x.Rows[at])
}

// open sets the chunk of a place of a leaf, and the distance from a row to its item.
func (f *finder) open(ctx context.Context, p *place, x *chunkmap.Leaf, ref uint16, move int64) (err error) {
	p.entry, p.move = &x.Chunks[ref], move
	if p.known = &f.known[ref]; p.known.chunk == nil {
		p.known.chunk, err = f.c.chunkOf(ctx, p.entry, 0, x.Mixed())
	}
	return err
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
	if c.view.StoreRemote() {
		if err := c.openAll(ctx, runs); err != nil {
			return out, err
		}
	}
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

// openAll opens the chunks of rows of the dataset over a network, all at once: one behind the other
// would take a request's time for each. Runs rise mostly; those of missing rows are negative.
func (c *Column) openAll(ctx context.Context, runs [][2]int64) error {
	live, walk := c.view.snap.Live.Cursor(), chunkmap.NewWalker(c.tree)
	var seen []bool // chunks of the leaf
	g := task.New(ctx, chunkmap.InFlight)
	for _, r := range runs {
		for row := max(r[0], 0); row < r[1]; {
			physical, behind := live.Run(row)
			x, place, end, moved, err := walk.Seek(ctx, physical)
			if err != nil {
				_ = g.Wait()
				return err
			}
			if moved {
				seen = make([]bool, len(x.Chunks))
			}
			row = min(end-physical+row, behind)
			if place < 0 || x.Refs[place] == chunkmap.NoSample || seen[x.Refs[place]] {
				continue
			}
			ref := x.Refs[place]
			seen[ref] = true
			if c.view.d.chunks.has(&x.Chunks[ref]) {
				continue
			}
			g.Go(func(ctx context.Context) error {
				_, err := c.chunkOf(ctx, &x.Chunks[ref], 0, x.Mixed())
				return err
			})
		}
	}
	return g.Wait()
}

// runsOf returns rows as runs of rows that follow each other.
func runsOf(rows []int64) (out [][2]int64) {
	for _, row := range rows {
		if n := len(out) - 1; n >= 0 && out[n][1] == row {
			out[n][1]++
			continue
		}
		out = append(out, [2]int64{row, row + 1})
	}
	return out
}

// Find implements read.Map.
func (c *Column) Find(ctx context.Context, rows []int64, found *read.Found) error {
	found.Of = make([]int32, len(rows))
	if c.view.StoreRemote() {
		if err := c.openAll(ctx, runsOf(rows)); err != nil {
			return err
		}
	}
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

// Pieces returns the rows of the dataset, for reading many that lie in small pieces.
func (c *Column) Pieces() *pieces.Rows {
	snap := c.view.snap
	return &pieces.Rows{
		Tree: c.tree, Live: snap.Live,
		Deleted: func(row int64) bool { return snap.Deleted.Contains(uint64(row)) },
		Open: func(ctx context.Context, e *format.Entry, scattered bool) (*chunk.Chunk, error) {
			return c.chunkOf(ctx, e, 0, scattered)
		},
	}
}

// copyRange is read.Access.CopyRange.
func (c *Column) copyRange(ctx context.Context, from, to int64, shape tensor.Shape, dst []byte, w *chunk.Worker) (bool, error) {
	v := c.view
	if v.list != nil || v.step < 1 || v.step > pieces.MostWaste || to <= from || c.Encoded() || c.Sequence() {
		return false, nil
	}
	var r pieces.Copier
	of := c.Pieces()
	if v.step == 1 {
		return r.Copy(ctx, of, v.live(from), v.live(to), shape, dst, w)
	}
	each := int64(len(dst)) / (to - from)
	var all []byte
	for from < to {
		n := min(to-from, strideRows)
		all = slices.Grow(all[:0], int(((n-1)*v.step+1)*each))[:((n-1)*v.step+1)*each]
		low := v.live(from)
		if ok, err := r.Copy(ctx, of, low, low+(n-1)*v.step+1, shape, all, w); !ok || err != nil {
			return false, err
		}
		read.Stride(dst[:n*each], all, each, v.step)
		from, dst = from+n, dst[n*each:]
	}
	return true, nil
}

// strideRows is the number of rows that are copied with those in between.
const strideRows = 16 << 10
