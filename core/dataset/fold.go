package dataset

import (
	"context"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/dataset/pieces"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/read"
	"deeplake/core/version"
	"deeplake/core/version/chunkmap"
)

// A commit rewrites rows whose samples scattered updates have spread over many chunks, so that a
// dataset that is updated for long stays as fast as a new one. Each byte is then written once by
// its update, and at most foldPart times when its rows are rewritten.
const (
	foldRows  = 16      // fewer updated rows in a commit leave nothing to rewrite
	foldPart  = 3       // neighbouring rows are rewritten once a third lies in other chunks
	foldItem  = 4 << 10 // bytes of a sample, in the mean: larger ones have blocks of their own
	foldWhole = 4096    // rows that lie together: they are read fast as they are
	foldShort = 16      // the most rows of a piece that later updates have left of an update
	foldBatch = 16 << 10
	// bytes of samples that a commit rewrites because others were deleted: deleting a third of a
	// terabyte must not write the rest again
	foldMost = 128 << 20
)

// fewest returns the least rows, and pieces of rows, that are rewritten.
func (e *Env) fewest() int {
	if e.foldRows > 0 {
		return e.foldRows
	}
	return foldRows
}

// mostPacked returns the bytes that a commit rewrites because of deletions.
func (e *Env) mostPacked() int64 {
	if e.foldBytes > 0 {
		return e.foldBytes
	}
	return foldMost
}

// fold rewrites the rows that updates of the transaction leave scattered, and those between many
// deleted ones. flush has run before.
func (w *writer) fold(ctx context.Context) error {
	var after *version.Snapshot // the commit, if it were made now
	deleted, left := w.txn.DeletedRows(), w.d.env.mostPacked()
	for i := range w.txn.Schema().Tensors {
		ct := w.byID[w.txn.Schema().Tensors[i].ID]
		if ct.sampleCodec != nil || ct.list {
			continue
		}
		rows := w.txn.Updated(ct.schema.ID)
		if len(rows) < w.d.env.fewest() {
			rows = nil
		}
		if len(deleted) >= w.d.env.fewest() {
			rows = slices.Compact(slices.Sorted(slices.Values(slices.Concat(rows, deleted))))
		}
		if len(rows) == 0 {
			continue
		}
		if after == nil {
			var err error
			if after, err = w.txn.Draft(ctx); err != nil {
				return err
			}
		}
		gone := func(row int64) bool { return after.Deleted.Contains(uint64(row)) }
		f := &folding{w: w, ct: ct, gone: gone, live: &after.Live, left: &left, out: filling{builder: chunk.NewBuilder(ct.spec(), w.session)}}
		f.io.Worker = chunk.NewWorker(w.d.env.Codecs)
		err := f.run(ctx, after, rows)
		f.out.builder.Abort()
		f.io.Worker.Close()
		if err != nil && (ctx.Err() != nil || errs.Is(err, errs.Internal)) {
			return errs.Wrap(errs.Storage, "rewrite updated tensor", ct.schema.Name, err)
		}
		// A failed rewrite is no failed commit: the rows keep their old places.
	}
	if after == nil {
		return nil
	}
	return w.flush(ctx)
}

// folding is the work on one tensor.
type folding struct {
	w      *writer
	ct     *columnType
	column *Column // of all physical rows
	io     read.Reader
	out    filling
	gone   func(row int64) bool
	live   *version.RowMap
	left   *int64 // bytes that the commit may still rewrite because of deletions
}

// run rewrites the scattered rows in the leaves of updated and deleted rows, which rise.
func (f *folding) run(ctx context.Context, after *version.Snapshot, rows []int64) error {
	physical := *after
	physical.Live = version.RowMap{}
	v, err := newView(f.w.d, &physical, true)
	if err != nil {
		return err
	}
	if f.column, err = v.Column(f.ct.schema.Name); err != nil {
		return err
	}
	walk := chunkmap.NewWalker(f.column.tree)
	for len(rows) > 0 {
		x, place, _, _, err := walk.Seek(ctx, rows[0])
		if err != nil {
			return err
		}
		if place < 0 { // a deleted row without a sample
			rows = rows[1:]
			continue
		}
		end := x.End()
		for len(rows) > 0 && rows[0] < end {
			rows = rows[1:]
		}
		fewest, s := f.w.d.env.fewest(), pieces.Segments(x, f.live)
		ranges, packed := scattered(x, s, fewest), false
		if f.live.Name() != nil {
			if found := holed(x, s, fewest); len(found) > 0 {
				ranges, packed = found, true // they have the scattered rows, too
			}
		}
		for _, r := range ranges {
			from, to := f.live.Physical(r[0]), min(f.live.Physical(r[1]-1)+1, f.w.txn.Base().Record.Rows)
			if from < to {
				if err := f.rewrite(ctx, from, to, packed); err != nil {
					return err
				}
			}
		}
	}
	s, err := f.out.builder.Seal()
	if s != nil && err == nil {
		f.sealed(s, f.out.runs)
	}
	return err
}

// scattered returns the ranges of a leaf's live rows to rewrite: those of at least so many pieces,
// of which updates have moved a third of the rows to other chunks.
func scattered(x *chunkmap.Leaf, s *chunkmap.Segments, fewest int) (out [][2]int64) {
	// A chunk is a home if it had an item for each row between its rows: updates and deletions have
	// holed it. The other chunks of several pieces have the samples of updates.
	n := len(x.Chunks)
	home, shifts, seen, last := make([]bool, n), make([]int64, n), make([]int, n), make([]int, n)
	for i, ref := range s.Refs {
		if ref == chunkmap.NoSample {
			continue
		}
		shift := s.Items[i] - s.Rows[i]
		home[ref] = seen[ref] == 0 || home[ref] && shift >= shifts[ref]
		shifts[ref], last[ref] = shift, i
		seen[ref]++
	}
	from, pieces, away := int64(-1), 0, int64(0)
	end := func(row int64) {
		if from >= 0 && pieces >= fewest && away*foldPart+int64(fewest) > row-from {
			out = append(out, [2]int64{from, row})
		}
		from, pieces, away = -1, 0, 0
	}
	reach, several := -1, false // the last piece of a home; the piece before is a part
	for i, ref := range s.Refs {
		n := s.Rows[i+1] - s.Rows[i]
		if ref == chunkmap.NoSample || n >= foldWhole || x.Chunks[ref].Tiles > 0 {
			end(s.Rows[i])
			several = false
			continue
		}
		// Later updates leave short pieces from the middle of a chunk.
		part := seen[ref] > 1 || s.Items[i] > 0 && n <= foldShort
		if reach < i && !(several && part) {
			end(s.Rows[i])
		}
		if several = part; seen[ref] > 1 && home[ref] {
			reach = max(reach, last[ref])
		}
		if from < 0 {
			from = s.Rows[i]
		}
		if pieces++; !home[ref] || seen[ref] == 1 {
			away += n
		}
	}
	end(s.Rows[len(s.Refs)])
	return out
}

// holed returns the ranges of a leaf's live rows of whose items deletions leave too few: a third of
// those between the rows is of deleted or updated ones. They have at least so many pieces.
func holed(x *chunkmap.Leaf, s *chunkmap.Segments, fewest int) (out [][2]int64) {
	behind := make([]int64, len(x.Chunks)) // of each chunk, the item behind its last piece
	first, pieces, waste := -1, 0, int64(0)
	end := func(k int) {
		if first >= 0 && pieces >= fewest && waste*(foldPart-1)+int64(fewest) > s.Rows[k]-s.Rows[first] {
			out = append(out, [2]int64{s.Rows[first], s.Rows[k]})
		}
		first, pieces, waste = -1, 0, 0
		clear(behind)
	}
	for k, ref := range s.Refs {
		n := s.Rows[k+1] - s.Rows[k]
		if ref == chunkmap.NoSample || n >= foldWhole || x.Chunks[ref].Tiles > 0 {
			end(k)
			continue
		}
		if first < 0 {
			first = k
		}
		if at := behind[ref]; at > 0 {
			waste += min(max(s.Items[k]-at, 0), foldWhole)
		}
		behind[ref] = s.Items[k] + n
		pieces++
	}
	end(len(s.Refs))
	return out
}

// rewrite gives physical rows [from, to) new chunks. Packed ones have no items for deleted rows.
// The others have, so that rows and items stay side by side.
func (f *folding) rewrite(ctx context.Context, from, to int64, packed bool) error {
	for ; from < to; from += foldBatch {
		if ctx.Err() != nil {
			return errs.Cause(ctx, "commit")
		}
		if packed && *f.left <= 0 {
			return nil
		}
		end := min(from+foldBatch, to)
		segments, err := f.column.Segments(ctx, [][2]int64{{from, end}}, nil)
		if err != nil {
			return err
		}
		runs := make([]read.Values, len(segments))
		for i := range segments {
			s := &segments[i]
			if s.Chunk == nil || s.Tiles != nil || s.Chunk.Index.Linked() || s.Chunk.Index.SampleCodec() != codec.None || s.Chunk.Index.ItemsBytes(0, s.Chunk.Index.Items()) > foldItem*s.Chunk.Index.Items() {
				return nil
			}
			runs[i] = s.Values()
		}
		items, err := f.read(ctx, runs, from, end)
		if err != nil {
			return err
		}
		if !packed && !f.fill(items, from) {
			continue // every row is deleted
		}
		for i := range items {
			row := from + int64(i)
			if packed {
				if f.gone(row) {
					continue
				}
				*f.left -= int64(len(items[i].Data))
			}
			s, err := f.out.builder.AddRow(ctx, items[i:i+1])
			if err != nil {
				if s != nil {
					s.Stream.Abort()
				}
				return err
			}
			f.out.take(s, row, 1, func(runs []format.RowRange) { f.sealed(s, runs) })
		}
	}
	return nil
}

// fill puts the sample of a live row in the place of each deleted one, which keeps the place that
// it has: nothing of it is written again, and rows and items stay side by side. It returns false if
// no row is live.
func (f *folding) fill(items []chunk.Item, from int64) bool {
	first := 0
	for first < len(items) && f.gone(from+int64(first)) {
		first++
	}
	if first == len(items) {
		return false
	}
	last := items[first]
	for i := range items {
		if f.gone(from + int64(i)) {
			items[i] = last
		}
		last = items[i]
	}
	return true
}

// read reads the samples of rows [from, to).
func (f *folding) read(ctx context.Context, runs []read.Values, from, to int64) ([]chunk.Item, error) {
	items := make([]chunk.Item, to-from)
	for _, g := range read.Groups(runs) {
		x := g.Segment.Chunk.Index
		mem := make([]byte, g.Stored())
		if err := f.io.Read(ctx, &g.Values, mem, f.column.Channels()); err != nil {
			return nil, err
		}
		for _, i := range g.Runs {
			r := &runs[i]
			data := mem[x.ItemsBytes(g.Item, r.Item-g.Item):]
			for k := range r.N {
				size := r.ItemBytes(k)
				items[r.Segment.Row-from+k] = chunk.Item{Data: data[:size:size], Shape: x.Shape(r.Item + k)}
				data = data[size:]
			}
		}
	}
	return items, nil
}

// sealed hands a complete chunk of rows to the transaction.
func (f *folding) sealed(s *chunk.Sealed, runs []format.RowRange) {
	e := format.Entry{Session: s.Session, Ordinal: s.Ordinal, Bytes: s.Bytes, Stats: s.Stats}
	f.w.txn.FoldChunk(f.ct.schema.ID, e, runs, f.gone, s.Dir)
	f.w.spill()
	f.w.finish(s.Stream.Finish, s.Stream.Abort)
}
