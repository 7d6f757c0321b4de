package v3

import (
	"context"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/format"
)

// writing is a chunk that is being copied.
type writing struct {
	*copying
	spec    *chunk.Spec
	session *chunk.Session
	worker  *chunk.Worker
	out     *copied

	builder *chunk.Builder
	row     int64 // of the chunk that is copied: the next one
}

// absent reports whether a row has no sample in the copy.
func absent(ch *chunk.Chunk, row int64) bool {
	x := ch.Index
	return !x.Sequence() && x.Absent(row) || dead(x, row) || undecoded(ch, row) != nil
}

// undecoded returns why an item of a row is not decoded here, nil if all are.
func undecoded(ch *chunk.Chunk, row int64) error {
	first, n := ch.Index.RowItemsRange(row)
	return ch.Undecoded(first, n)
}

// dead reports whether a row is a link that leads to no image of the declared kind, or to none that
// may be read; see kind.look.
func dead(x *format.Index, row int64) bool {
	if !x.Linked() {
		return false
	}
	first, n := x.RowItemsRange(row)
	for item := first; item < first+n; item++ {
		if !x.Sequence() && x.Absent(item) {
			continue
		}
		if l := x.Link(item); l.Size < 0 && l.Tag == "" && l.Length == 1 {
			return true
		}
	}
	return false
}

// again takes the chunks that an earlier copy has left, if they are complete.
func (w *writing) again(ctx context.Context, ch *chunk.Chunk) (bool, error) {
	x := ch.Index
	row := int64(0)
	var parts []part
	for ordinal := int64(0); ; ordinal++ {
		key := format.DataKey(w.session.ID, ordinal)
		size, ok := w.found[key]
		if !ok {
			break
		}
		raw, err := chunk.ReadDirectory(ctx, w.dst, key, size, format.ChunkHead{Session: w.session.ID, Ordinal: ordinal, Tensor: w.spec.Tensor})
		if err != nil {
			return false, ctx.Err() // it is written again
		}
		d, err := format.DecodeDirectory(raw)
		if err != nil {
			return false, nil
		}
		for left, first := d.Index().Rows(), int64(0); left > 0; {
			for row < x.Rows() && absent(ch, row) {
				row++
			}
			n := int64(0)
			for n < left && row+n < x.Rows() && !absent(ch, row+n) {
				n++
			}
			if n == 0 {
				return false, nil
			}
			parts = append(parts, part{from: row, dir: raw, e: format.Entry{Rows: n, First: first, Session: w.session.ID, Ordinal: ordinal, Bytes: size}})
			row, left, first = row+n, left-n, first+n
		}
	}
	for row < x.Rows() && absent(ch, row) {
		row++
	}
	if row < x.Rows() {
		return false, nil
	}
	w.out.parts = parts
	w.count(0, 0, int64(len(parts)))
	return true, nil
}

// rows copies the rows of a chunk.
func (w *writing) rows(ctx context.Context, ch *chunk.Chunk) error {
	ch, err := ch.Load(ctx)
	if err != nil {
		return err
	}
	w.builder = chunk.NewBuilder(w.spec, w.session)
	defer w.builder.Abort()
	x := ch.Index
	var runs []part // of live rows
	for w.row < x.Rows() {
		if absent(ch, w.row) {
			w.row++
			continue
		}
		if n := len(runs); n > 0 && runs[n-1].from+runs[n-1].e.Rows == w.row {
			runs[n-1].e.Rows++
		} else {
			runs = append(runs, part{from: w.row, e: format.Entry{Rows: 1}})
		}
		items, err := w.items(ctx, ch, w.row)
		if err != nil {
			return err
		}
		sealed, err := w.builder.AddRow(ctx, items)
		if err != nil {
			return err
		}
		w.row++
		if sealed != nil {
			if err := w.finish(ctx, sealed, &runs); err != nil {
				return err
			}
		}
	}
	if w.builder.Rows() == 0 {
		return nil
	}
	sealed, err := w.builder.Seal()
	if err != nil {
		return err
	}
	return w.finish(ctx, sealed, &runs)
}

// items returns the items of a row as they are stored.
func (w *writing) items(ctx context.Context, ch *chunk.Chunk, row int64) ([]chunk.Item, error) {
	x := ch.Index
	first, n := x.RowItemsRange(row)
	items := make([]chunk.Item, n)
	for k := range items {
		at := first + int64(k)
		items[k] = chunk.Item{Shape: x.Shape(at), Codec: x.SampleCodec()}
		if x.Linked() {
			l := x.Link(at)
			items[k].Link = &l
			continue
		}
		ref := chunk.Ref{Chunk: ch, Item: at, Items: 1, Shape: x.Shape(at), Stored: x.ItemBytes(at)}
		items[k].Data = make([]byte, ref.Stored)
		if err := w.worker.Stored(ctx, &ref, items[k].Data); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// finish stores a sealed chunk, which has the first rows of runs.
func (w *writing) finish(ctx context.Context, s *chunk.Sealed, runs *[]part) error {
	if err := s.Stream.Finish(ctx); err != nil {
		return err
	}
	left, first := s.Rows, int64(0)
	for left > 0 {
		if len(*runs) == 0 {
			return errs.New(errs.Internal, "a chunk of %d rows has %d too many", s.Rows, left)
		}
		r := &(*runs)[0]
		n := min(left, r.e.Rows)
		w.out.parts = append(w.out.parts, part{from: r.from, dir: s.Dir, e: format.Entry{
			Rows: n, First: first, Session: s.Session, Ordinal: s.Ordinal, Bytes: s.Bytes, Stats: s.Stats,
		}})
		left, first = left-n, first+n
		if r.from, r.e.Rows = r.from+n, r.e.Rows-n; r.e.Rows == 0 {
			*runs = (*runs)[1:]
		}
	}
	w.count(1, s.Bytes, 0)
	return nil
}

// tiles copies the tiles of a sample.
func (w *writing) tiles(ctx context.Context, open []*chunk.Chunk) error {
	entry := format.Entry{Rows: 1, Session: w.session.ID, Tiles: int64(len(open))}
	for _, ch := range open {
		items, err := w.items(ctx, ch, 0)
		if err != nil {
			return err
		}
		s, err := chunk.WriteTile(ctx, w.spec, w.session, items[0], *ch.Index.Tile())
		if err != nil {
			return err
		}
		if err := s.Stream.Finish(ctx); err != nil {
			return err
		}
		entry.Bytes += s.Bytes
		w.out.dirs = append(w.out.dirs, s.Dir)
		w.count(1, s.Bytes, 0)
	}
	w.out.parts = []part{{e: entry}}
	return nil
}

// count adds written and skipped chunks to the report.
func (c *copying) count(objects, bytes, skipped int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Objects += objects
	c.report.Bytes += bytes
	c.report.Skipped += skipped
	c.o.Progress.Did(objects, bytes)
}
