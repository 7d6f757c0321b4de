package chunk

import (
	"context"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/tensor"
)

// TileShape halves the largest spatial axis of shape until a tile has at most limit bytes. The
// channel axis, the last of three or more, stays whole. It fails when the spatial axes cannot be
// cut that far.
func TileShape(shape tensor.Shape, itemSize, limit int64) (tensor.Shape, error) {
	t := shape.Clone()
	spatial := len(t)
	if spatial >= 3 {
		spatial--
	}
	for {
		n := itemSize
		for _, d := range t {
			n *= d
		}
		if n <= limit && t.Equal(shape) {
			return t, nil
		}
		if n <= limit {
			if tiles := Tiles(shape, t); tiles > MaxTiles {
				return nil, errs.New(errs.Invalid, "a sample of shape %s would be cut into %d tiles of %d bytes, more than %d; raise chunk_bytes", shape, tiles, limit, MaxTiles)
			}
			return t, nil
		}
		axis := 0
		for i := 1; i < spatial; i++ {
			if t[i] > t[axis] {
				axis = i
			}
		}
		if spatial == 0 || t[axis] <= 1 {
			return nil, errs.New(errs.Invalid, "a sample of shape %s cannot be cut into tiles of %d bytes; raise chunk_bytes", shape, limit)
		}
		t[axis] = (t[axis] + 1) / 2
	}
}

// MaxTiles is the most tiles of a sample, so that their directories go into one side page.
const MaxTiles = format.MaxSideSlots

// Tiles is the number of tiles of a sample.
func Tiles(sample, tile tensor.Shape) int64 {
	n := int64(1)
	for i := range sample {
		n *= (sample[i] + tile[i] - 1) / tile[i]
	}
	return n
}

// tileAt gives the origin and the shape of a tile, which is smaller at the far edges.
func tileAt(sample, tile tensor.Shape, index int64) (origin, shape tensor.Shape) {
	origin, shape = make(tensor.Shape, len(sample)), make(tensor.Shape, len(sample))
	for i := len(sample) - 1; i >= 0; i-- {
		n := (sample[i] + tile[i] - 1) / tile[i]
		origin[i] = index % n * tile[i]
		index /= n
		shape[i] = min(tile[i], sample[i]-origin[i])
	}
	return origin, shape
}

// Cut copies one tile out of a C-order sample.
func Cut(data []byte, sample, tile tensor.Shape, index, itemSize int64) ([]byte, tensor.Shape) {
	origin, shape := tileAt(sample, tile, index)
	n := itemSize
	for _, d := range shape {
		n *= d
	}
	out := make([]byte, n)
	eachRow(sample, shape, origin, itemSize, func(at, in, n int64) { copy(out[in:in+n], data[at:at+n]) })
	return out, shape
}

// place copies a tile into its sample.
func place(dst, tile []byte, sample, shape, origin tensor.Shape, itemSize int64) {
	eachRow(sample, shape, origin, itemSize, func(at, in, n int64) { copy(dst[at:at+n], tile[in:in+n]) })
}

// wholeAxes counts the last axes that a part has whole, as the channels of a picture.
func wholeAxes(sample, part tensor.Shape) int {
	n := 0
	for n < len(sample)-1 && part[len(part)-1-n] == sample[len(sample)-1-n] {
		n++
	}
	return n
}

// eachRow calls fn for every contiguous run of a tile: its offset in the sample, its offset in the
// tile, its length.
func eachRow(sample, shape, origin tensor.Shape, itemSize int64, fn func(at, in, n int64)) {
	eachRun(sample, shape, origin, itemSize, wholeAxes(sample, shape), fn)
}

// eachRun is eachRow of runs over the last axis and the whole axes behind it, which the tile has as
// the sample has them.
func eachRun(sample, shape, origin tensor.Shape, itemSize int64, whole int, fn func(at, in, n int64)) {
	last := len(sample) - 1
	for _, d := range shape {
		if d == 0 {
			return
		}
	}
	stride := make([]int64, len(sample)) // bytes of one step along each axis of the sample
	step := itemSize
	for i := last; i >= 0; i-- {
		stride[i] = step
		step *= sample[i]
	}
	n := shape[last] * itemSize
	for range whole {
		last--
		n *= shape[last]
	}
	at := make([]int64, len(sample))
	for in := int64(0); ; in += n {
		offset := origin[last] * stride[last]
		for i := range last {
			offset += (origin[i] + at[i]) * stride[i]
		}
		fn(offset, in, n)
		axis := last - 1
		for ; axis >= 0; axis-- {
			if at[axis]++; at[axis] < shape[axis] {
				break
			}
			at[axis] = 0
		}
		if axis < 0 {
			return
		}
	}
}

// tiled puts the tiles of an oversized sample together.
func (w *Worker) tiled(ctx context.Context, ref *Ref, dst []byte, want codec.Channels) error {
	return w.eachTile(ctx, ref, want, nil, func(origin, shape tensor.Shape, itemSize int64) {
		place(dst, w.tile, ref.Shape, shape, origin, itemSize)
	})
}

// tiledROI puts together the region of a tiled image that part wants, out of the tiles that have
// some of it.
func (w *Worker) tiledROI(ctx context.Context, ref *Ref, part *codec.ROI, want codec.Channels) error {
	if !part.Within(int(ref.Shape[1]), int(ref.Shape[0])) {
		return errs.New(errs.Internal, "decode region %+v of a sample of shape %s", part.Region, ref.Shape)
	}
	from := [2]int64{int64(part.Y), int64(part.X)}
	to := [2]int64{from[0] + int64(part.Height), from[1] + int64(part.Width)}
	pixel := ref.Size / (ref.Shape[0] * ref.Shape[1])
	stride := int64(part.Width) * pixel
	w.whole = grow(w.whole, int64(part.Height)*stride)
	touches := func(origin, shape tensor.Shape) bool {
		return origin[0] < to[0] && origin[0]+shape[0] > from[0] && origin[1] < to[1] && origin[1]+shape[1] > from[1]
	}
	err := w.eachTile(ctx, ref, want, touches, func(origin, shape tensor.Shape, _ int64) {
		left, right := max(origin[1], from[1]), min(origin[1]+shape[1], to[1])
		for y := max(origin[0], from[0]); y < min(origin[0]+shape[0], to[0]); y++ {
			row := w.tile[((y-origin[0])*shape[1]+left-origin[1])*pixel:]
			copy(w.whole[(y-from[0])*stride+(left-from[1])*pixel:], row[:(right-left)*pixel])
		}
	})
	if err != nil {
		return err
	}
	return part.To.Deliver(w.whole, int(stride))
}

// eachTile decodes the tiles that are needed, nil being all, into w.tile, and shows each.
func (w *Worker) eachTile(ctx context.Context, ref *Ref, want codec.Channels, needed func(origin, shape tensor.Shape) bool, show func(origin, shape tensor.Shape, itemSize int64)) error {
	first := ref.Tiles[0].Index
	for k, c := range ref.Tiles {
		t := c.Index.Tile()
		if t == nil || first.Tile() == nil || !t.Sample.Equal(first.Tile().Sample) || !t.Tile.Equal(first.Tile().Tile) ||
			t.Index != int64(k) || c.Index.DType() != first.DType() {
			return errs.Op("read chunk", c.Key).New(errs.Corrupt, "it is not tile %d of the sample", k)
		}
		origin, shape := tileAt(t.Sample, t.Tile, t.Index)
		if needed != nil && !needed(origin, shape) {
			continue
		}
		size := int64(c.Index.DType().Size())
		elements, err := shape.Elements()
		if err != nil {
			return err
		}
		w.tile = grow(w.tile, elements*size)
		if c.Index.SampleCodec() == codec.None {
			if c.Index.ItemBytes(0) != elements*size {
				return errs.Op("read chunk", c.Key).New(errs.Corrupt, "the tile has %d bytes, want %d", c.Index.ItemBytes(0), elements*size)
			}
			err = w.items(ctx, c, 0, 1, w.tile)
		} else {
			err = w.decodeItem(ctx, ref, c, 0, w.tile, want)
		}
		if err != nil {
			return err
		}
		show(origin, shape, size)
	}
	return nil
}

// WriteTile writes one tile as a chunk of its own.
func WriteTile(ctx context.Context, spec *Spec, session *Session, it Item, ref format.TileRef) (*Sealed, error) {
	plain := *spec
	plain.Sequence = false
	plain.Target = format.MaxChunkBytes // one item, whatever its size
	b := NewBuilder(&plain, session)
	b.tile = &ref
	if _, err := b.Add(ctx, it); err != nil {
		b.Abort()
		return nil, err
	}
	s, err := b.Seal()
	if err != nil {
		b.Abort()
		return nil, err
	}
	return s, nil
}
