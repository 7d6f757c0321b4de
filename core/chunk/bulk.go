package chunk

import (
	"context"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Items copies consecutive items as they are stored into dst, whose length is that of all of them:
// at the speed of the store, where they are whole blocks.
func (w *Worker) Items(ctx context.Context, c *Chunk, item, count int64, dst []byte) error {
	if n := c.Index.ItemsBytes(item, count); int64(len(dst)) != n {
		return errs.New(errs.Internal, "read items of %d bytes into %d bytes", n, len(dst))
	}
	if c.Index.Linked() || w.readAhead != nil {
		return w.items(ctx, c, item, count, dst)
	}
	for end := item + count; item < end; {
		first, next, raw := c.wholeBlocks(item, end)
		if next-first < 2 { // a part of a block, or a single item
			b, at := c.Index.BlockOf(item)
			to := min(end, at+c.Index.BlockItems(b))
			n := c.Index.ItemsBytes(item, to-item)
			if err := w.items(ctx, c, item, to-item, dst[:n]); err != nil {
				return err
			}
			dst, item = dst[n:], to
			continue
		}
		if err := w.blocks(ctx, c, first, next, dst[:raw]); err != nil {
			return err
		}
		last, at := next-1, int64(0)
		for b := first; b <= last; b++ {
			at += c.Index.BlockItems(b)
		}
		dst, item = dst[raw:], item+at
	}
	return nil
}

// bulkBytes is the size of one read: it stays in the cache of a core until it is checked.
const bulkBytes = 512 << 10

// wholeBlocks are the blocks [first, next) of which all items are in [item, end), and their bytes
// before compression.
func (c *Chunk) wholeBlocks(item, end int64) (first, next int, raw int64) {
	x := c.Index
	first, at := x.BlockOf(item)
	if at != item {
		return first, first, 0
	}
	stored := int64(0)
	for next = first; next < x.Blocks(); next++ {
		at += x.BlockItems(next)
		_, n, r := x.BlockRange(next)
		if at > end || next > first && stored+n > bulkBytes {
			break
		}
		stored, raw = stored+n, raw+r
	}
	return first, next, raw
}

// blocks reads several blocks that follow each other with one request.
func (w *Worker) blocks(ctx context.Context, c *Chunk, first, next int, dst []byte) error {
	x := c.Index
	off, _, _ := x.BlockRange(first)
	end, n, _ := x.BlockRange(next - 1)
	n += end - off
	compressed := x.BlockCodec() != codec.None
	data := dst
	if compressed {
		data = w.scratch(n)
	}
	if err := c.readAt(ctx, data, off); err != nil {
		return err
	}
	for b := first; b < next; b++ {
		at, stored, raw := x.BlockRange(b)
		block := data[at-off : at-off+stored]
		if checkBlock(c, b, block) != nil {
			if err := w.readBlock(ctx, c, b, block); err != nil {
				// the error is of the bytes, or of this attempt alone
				return err
			}
		}
		switch {
		case !compressed:
		case stored == raw:
			copy(dst, block)
		default:
			bc, err := w.codecs.Bytes(x.BlockCodec())
			if err == nil {
				err = bc.Decode(dst[:raw], block)
			}
			if err != nil {
				return errs.Wrap(errs.Corrupt, "read chunk", c.Key, err)
			}
		}
		if compressed {
			dst = dst[raw:]
		}
	}
	return nil
}

// BlockBytes is the number of stored bytes of the blocks that hold consecutive items.
func (c *Chunk) BlockBytes(item, count int64) int64 {
	x := c.Index
	if count <= 0 || x.Linked() {
		return x.ItemsBytes(item, count)
	}
	from, to := c.Blocks(item, count)
	return to - from
}

// Blocks is where the blocks lie in a chunk of its own bytes that hold consecutive items, of which
// there are some.
func (c *Chunk) Blocks(item, count int64) (from, to int64) {
	first, _ := c.Index.BlockOf(item)
	last, _ := c.Index.BlockOf(item + count - 1)
	from, _, _ = c.Index.BlockRange(first)
	to, n, _ := c.Index.BlockRange(last)
	return from, to + n
}

// Region is the part of an array between two corners: from each From to before To.
type Region struct{ From, To tensor.Shape }

// Shape is the size of the region.
func (r Region) Shape() tensor.Shape {
	s := make(tensor.Shape, len(r.From))
	for i := range s {
		s[i] = r.To[i] - r.From[i]
	}
	return s
}

// DecodeRegion decodes a region of a sample that is stored in tiles into dst, in C order, out of
// the tiles that have some of it. read is the number of stored bytes that those tiles have.
func (w *Worker) DecodeRegion(ctx context.Context, ref *Ref, r Region, dst []byte, want codec.Channels) (read int64, err error) {
	if ref.Tiles == nil || len(r.From) != len(ref.Shape) || len(r.To) != len(ref.Shape) {
		return 0, errs.New(errs.Internal, "decode region %v to %v of a sample of shape %s in %d tiles", r.From, r.To, ref.Shape, len(ref.Tiles))
	}
	for i, n := range ref.Shape {
		if r.From[i] < 0 || r.To[i] < r.From[i] || r.To[i] > n {
			return 0, errs.New(errs.Internal, "decode region %v to %v of a sample of shape %s", r.From, r.To, ref.Shape)
		}
	}
	whole := r.Shape()
	if n, err := whole.Bytes(ref.Chunk.Index.DType()); err != nil || n != int64(len(dst)) {
		return 0, errs.New(errs.Internal, "decode region %v to %v of %s into %d bytes", r.From, r.To, ref.Chunk.Index.DType(), len(dst))
	}
	k := -1
	touches := func(origin, shape tensor.Shape) bool {
		k++
		for i := range origin {
			if origin[i] >= r.To[i] || origin[i]+shape[i] <= r.From[i] {
				return false
			}
		}
		read += ref.Tiles[k].Index.ItemBytes(0)
		return true
	}
	err = w.eachTile(ctx, ref, want, touches, func(origin, shape tensor.Shape, itemSize int64) {
		n := len(shape)
		common, inTile, inRegion := make(tensor.Shape, n), make(tensor.Shape, n), make(tensor.Shape, n)
		for i := range shape {
			from, to := max(origin[i], r.From[i]), min(origin[i]+shape[i], r.To[i])
			common[i], inTile[i], inRegion[i] = to-from, from-origin[i], from-r.From[i]
		}
		tile := w.tile
		// of the runs in the tile, which come in the same order as those in the region
		var at []int64
		axes := min(wholeAxes(shape, common), wholeAxes(whole, common))
		eachRun(shape, common, inTile, itemSize, axes, func(off, _, _ int64) { at = append(at, off) })
		eachRun(whole, common, inRegion, itemSize, axes, func(off, _, n int64) {
			copy(dst[off:off+n], tile[at[0]:])
			at = at[1:]
		})
	})
	return read, err
}

// TileSpans appends what reading a region of a sample in tiles takes.
func (r *Ref) TileSpans(region Region, spans []Span) []Span {
	for _, c := range r.Tiles {
		t := c.Index.Tile()
		origin, shape := tileAt(t.Sample, t.Tile, t.Index)
		touched := true
		for i := range origin {
			touched = touched && origin[i] < region.To[i] && origin[i]+shape[i] > region.From[i]
		}
		if touched {
			spans = c.Spans(0, c.Index.Items(), spans)
		}
	}
	return spans
}

// CutRegion copies a region out of a C-order array of shape s into dst, which has its size.
func CutRegion(dst, data []byte, s tensor.Shape, r Region, itemSize int64) error {
	n, err := s.Elements()
	m, err2 := r.Shape().Elements()
	if err != nil || err2 != nil || n*itemSize != int64(len(data)) || m*itemSize != int64(len(dst)) {
		return errs.New(errs.Corrupt, "array of shape %s has %d bytes, and %v to %v of it %d", s, len(data), r.From, r.To, len(dst))
	}
	if len(s) == 0 {
		copy(dst, data)
		return nil
	}
	eachRow(s, r.Shape(), r.From, itemSize, func(at, in, n int64) { copy(dst[in:in+n], data[at:at+n]) })
	return nil
}
