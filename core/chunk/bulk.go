package chunk

import (
	"context"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Items copies consecutive items as they are stored into dst, whose length is that of all of them: at the speed of the
// store, where they are whole blocks.
func (w *Worker) Items(ctx context.Context, c *Chunk, item, count int64, dst []byte) error {
	if n := c.Index.ItemsBytes(item, count); int64(len(dst)) != n {
		return errs.New(errs.Internal, "read items of %d bytes into %d bytes", n, len(dst))
	}
	return w.items(ctx, c, item, count, dst)
}

// BlockBytes is how many stored bytes the blocks have that hold consecutive items.
func (c *Chunk) BlockBytes(item, count int64) int64 {
	x := c.Index
	if count <= 0 || x.Linked() {
		return x.ItemsBytes(item, count)
	}
	first, _ := x.BlockOf(item)
	last, _ := x.BlockOf(item + count - 1)
	from, _, _ := x.BlockRange(first)
	to, n, _ := x.BlockRange(last)
	return to + n - from
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

// DecodeRegion decodes a region of a sample that is stored in tiles into dst, in C order, out of the tiles that have some
// of it. read is how many stored bytes those tiles have.
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
		var at []int64 // of the runs in the tile, which come in the same order as those in the region
		eachRow(shape, common, inTile, itemSize, func(off, _, _ int64) { at = append(at, off) })
		eachRow(whole, common, inRegion, itemSize, func(off, _, n int64) {
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
