package dataset

import (
	"context"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/tensor"
	"deeplake/core/version"
)

// Column is one tensor of a view. It never changes and may be used in parallel, with one Worker a
// goroutine. Errors of its samples are about chunks; the caller, who knows why it reads them, names
// the row.
type Column struct {
	view *View
	ct   *columnType
	tree version.Tree
}

// Name is the tensor's name.
func (c *Column) Name() string { return c.ct.schema.Name }

// DType is the element type of decoded samples; 0 while no sample has decided it.
func (c *Column) DType() tensor.DType { return c.ct.dtype }

// Sequence reports whether a row is a list of items.
func (c *Column) Sequence() bool { return c.ct.htype.List() }

// Encoded reports whether samples are files that cost far more to decode than to copy.
func (c *Column) Encoded() bool { return c.ct.sampleCodec != nil }

// finder resolves rows one after the other, remembering the entry and the chunk of the last one.
type finder struct {
	c     *Column
	entry format.Entry
	chunk *chunk.Chunk
}

// find fills ref for a live row of the snapshot.
func (f *finder) find(ctx context.Context, live int64, ref *chunk.Ref) error {
	c := f.c
	if live < 0 { // see Draw
		*ref = chunk.Ref{Row: live}
		return nil
	}
	row := c.view.snap.Live.Physical(live)
	if f.chunk == nil || row < f.entry.Row || row >= f.entry.Row+f.entry.Rows {
		e, ok, err := c.tree.Find(ctx, row)
		if err != nil {
			return err
		}
		if !ok {
			*ref = chunk.Ref{Row: live}
			return nil
		}
		f.entry = e
		if f.chunk, err = c.chunk(ctx, &e, 0); err != nil {
			return err
		}
	}
	if f.entry.Tiles > 0 {
		return f.tiled(ctx, live, ref)
	}
	return fill(ref, f.chunk, live, f.entry.First+row-f.entry.Row)
}

// chunk returns the chunk of an entry, or its k-th tile, after holding it against the tensor.
func (c *Column) chunk(ctx context.Context, e *format.Entry, k int64) (*chunk.Chunk, error) {
	ch, err := c.view.d.chunks.get(ctx, c.tree, e, k)
	if err == nil {
		err = c.ct.fits(ch)
	}
	return ch, err
}

// fits refuses a chunk of samples of another dtype, or of sequences where the tensor has none:
// readers take memory by the tensor, and place bytes by the chunk.
func (ct *columnType) fits(ch *chunk.Chunk) error {
	if d := ch.Index.DType(); ct.dtype != 0 && d != ct.dtype {
		return errs.New(errs.Corrupt, "read chunk %q: its samples have dtype %s, those of tensor %q have %s; run fsck", ch.Key, d, ct.schema.Name, ct.dtype)
	}
	if list := ch.Index.Sequence(); list != ct.htype.List() {
		return errs.New(errs.Corrupt, "read chunk %q: it has sequences (%v), tensor %q has (%v); run fsck", ch.Key, list, ct.schema.Name, ct.htype.List())
	}
	return nil
}

// fill describes a sample of an ordinary chunk.
func fill(ref *chunk.Ref, ch *chunk.Chunk, live, at int64) error {
	x := ch.Index
	if x.Sequence() {
		if at < 0 || at >= x.Rows() {
			return beyond(ch, at, x.Rows())
		}
		first, count := x.RowItemsRange(at)
		*ref = chunk.Ref{Row: live, Chunk: ch, Item: first, Items: count}
		for i := first; i < first+count; i++ {
			ref.Stored += x.ItemBytes(i)
			ref.Size += decodedBytes(x, i)
		}
		return nil
	}
	if at < 0 || at >= x.Items() {
		return beyond(ch, at, x.Items())
	}
	*ref = chunk.Ref{Row: live, Chunk: ch, Item: at, Items: 1, Shape: x.Shape(at), Stored: x.ItemBytes(at), Size: decodedBytes(x, at)}
	return nil
}

func beyond(ch *chunk.Chunk, at, n int64) error {
	return errs.New(errs.Corrupt, "read chunk %q: the map points at sample %d, it has %d", ch.Key, at, n)
}

// decodedBytes is the size of an item after decoding.
func decodedBytes(x *format.Index, item int64) int64 {
	if x.SampleCodec() == codec.None {
		return x.ItemBytes(item)
	}
	n := int64(x.DType().Size())
	for _, d := range x.Shape(item) {
		n *= d // the product was checked when the directory was decoded
	}
	return n
}

// tiled describes an oversized sample.
func (f *finder) tiled(ctx context.Context, live int64, ref *chunk.Ref) error {
	*ref = chunk.Ref{Row: live, Chunk: f.chunk, Items: 1, Tiles: make([]*chunk.Chunk, f.entry.Tiles)}
	for k := range f.entry.Tiles {
		t, err := f.c.chunk(ctx, &f.entry, k)
		if err != nil {
			return err
		}
		if t.Index.Tile() == nil || t.Index.Tile().Index != k {
			return errs.New(errs.Corrupt, "read chunk %q: it is not tile %d of the sample in row %d", t.Key, k, live)
		}
		ref.Tiles[k] = t
	}
	tile := f.chunk.Index.Tile()
	if chunk.Tiles(tile.Sample, tile.Tile) != f.entry.Tiles {
		return errs.New(errs.Corrupt, "read chunk %q: the sample has %d tiles, the map says %d", f.chunk.Key, chunk.Tiles(tile.Sample, tile.Tile), f.entry.Tiles)
	}
	ref.Shape = tile.Sample
	size, err := ref.Shape.Bytes(f.chunk.Index.DType())
	ref.Size, ref.Stored = size, size
	return err
}

// Resolve finds rows of the view and fills refs, len(refs) == len(rows). It reads index pages,
// never samples.
func (c *Column) Resolve(ctx context.Context, rows []int64, refs []chunk.Ref) error {
	f := finder{c: c}
	for i, row := range rows {
		if row < 0 || row >= c.view.n {
			return outOfRange(row, c.view.n)
		}
		live := c.view.live(row)
		if err := f.find(ctx, live, &refs[i]); err != nil {
			return err
		}
	}
	return nil
}

// Items splits a sequence into one ref an item, len(items) == ref.Items.
func (c *Column) Items(_ context.Context, ref *chunk.Ref, items []chunk.Ref) error {
	x := ref.Chunk.Index
	for k := range items {
		i := ref.Item + int64(k)
		items[k] = chunk.Ref{Row: ref.Row, Chunk: ref.Chunk, Item: i, Items: 1, Shape: x.Shape(i), Stored: x.ItemBytes(i), Size: decodedBytes(x, i)}
	}
	return nil
}

// Decode reads, checks and decodes a sample into dst, len(dst) == ref.Size. A sequence of encoded
// items is decoded item by item instead.
func (c *Column) Decode(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error {
	return w.Decode(ctx, ref, dst, c.ct.channels)
}

// Stored copies a sample as it is stored into dst, len(dst) == ref.Stored.
func (c *Column) Stored(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error {
	return w.Stored(ctx, ref, dst)
}

// DecodeRun decodes several samples at less cost than one by one; see chunk.Worker.DecodeRun.
func (c *Column) DecodeRun(ctx context.Context, refs []*chunk.Ref, dst [][]byte, w *chunk.Worker, failed func(i int, err error)) {
	w.DecodeRun(ctx, refs, dst, c.ct.channels, failed)
}

// DecodeROIs decodes regions of several samples; see chunk.Worker.DecodeROIs.
func (c *Column) DecodeROIs(ctx context.Context, refs []*chunk.Ref, parts []codec.ROI, w *chunk.Worker, failed func(i int, err error)) {
	w.DecodeROIs(ctx, refs, parts, c.ct.channels, failed)
}

// HType is what the samples mean, as it was given: "image.rgb", "bbox".
func (c *Column) HType() string { return c.ct.schema.HType }

// Info is what the user wrote down about the tensor. It is shared, read-only.
func (c *Column) Info() map[string]any { return c.ct.schema.Info }
