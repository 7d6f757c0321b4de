package dataset

import (
	"context"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

// Segment is rows of a tensor that follow each other and lie together: in one chunk, or one sample
// in tiles, or rows that have no sample.
type Segment struct {
	Row   int64          // first row in the dataset
	Rows  int64          // how many
	Chunk *chunk.Chunk   // nil: no row has a sample
	First int64          // the first of them in the chunk
	Tiles []*chunk.Chunk // of one sample in tiles
}

// Items is where the items of all rows of the piece lie in its chunk.
func (p *Segment) Items() (first, count int64) {
	first, _ = p.Chunk.Index.RowItemsRange(p.First)
	last, n := p.Chunk.Index.RowItemsRange(p.First + p.Rows - 1)
	return first, last + n - first
}

// Ref fills ref for row i of the piece.
func (p *Segment) Ref(i int64, ref *chunk.Ref) error {
	switch {
	case p.Chunk == nil:
		*ref = chunk.Ref{Row: p.Row + i}
		return nil
	case p.Tiles != nil:
		return fillTiled(ref, p.Row, p.Tiles)
	}
	return fill(ref, p.Chunk, p.Row+i, p.First+i)
}

// ItemRef fills ref for one item of the chunk, which is in row.
func (p *Segment) ItemRef(row, item int64, ref *chunk.Ref) {
	x := p.Chunk.Index
	*ref = chunk.Ref{Row: row, Chunk: p.Chunk, Item: item, Items: 1, Shape: x.Shape(item), Stored: x.ItemBytes(item), Size: decodedBytes(x, item)}
}

// Row is the row of the dataset at position i, which must be below Len; -1: there is none, see
// Draw.
func (v *View) Row(i int64) int64 { return v.live(i) }

// Regular reports whether the rows of v are start, start+step, ... of the dataset.
func (v *View) Regular() (start, step int64, ok bool) { return v.start, v.step, v.list == nil }

// drawBlock is how many rows are drawn between looks at the context: a megabyte of them.
const drawBlock = 1 << 17

// Draw is Select for rows of which some may be missing, -1: such a row has no sample in any tensor.
func (v *View) Draw(ctx context.Context, rows []int64) (*View, error) {
	out := v.derive()
	out.list = make([]int64, len(rows))
	out.n = int64(len(rows))
	for i, row := range rows {
		if i%drawBlock == 0 && ctx.Err() != nil {
			return nil, errs.Cause(ctx, "draw rows")
		}
		switch {
		case row == -1:
			out.list[i] = -1
		case row < 0 || row >= v.n:
			return nil, outOfRange(row, v.n)
		default:
			out.list[i] = v.live(row)
		}
	}
	return out, nil
}

// Segments appends where runs of rows of the dataset lie, in their order, each run being the first
// row and the one behind the last. It reads index pages. Row -1 of a run [-1, 0) has no sample.
func (c *Column) Segments(ctx context.Context, runs [][2]int64, out []Segment) ([]Segment, error) {
	if c.view.Remote() && len(runs) > 1 { // index pages of many runs at once
		more, err := inGroups(ctx, len(runs), func(ctx context.Context, from, to int, out []Segment) ([]Segment, error) {
			return c.serial(ctx, runs[from:to], out)
		})
		return append(out, more...), err
	}
	return c.serial(ctx, runs, out)
}

// serial is Pieces, one run after the other.
func (c *Column) serial(ctx context.Context, runs [][2]int64, out []Segment) ([]Segment, error) {
	f := &finder{c: c}
	v := c.view
	for _, run := range runs {
		if run[0] == -1 {
			out = append(out, Segment{Row: -1, Rows: run[1] - run[0]})
			continue
		}
		if run[0] < 0 || run[1] > v.snap.Rows() {
			return out, outOfRange(run[1]-1, v.snap.Rows())
		}
		live := run[0]
		var err error
		v.snap.Live.Runs(run[0], run[1], func(from, to int64) {
			if err == nil {
				out, err = f.segments(ctx, live, from, to, out)
				live += to - from
			}
		})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// segments appends where physical rows [from, to) lie, the first of which is called live.
func (f *finder) segments(ctx context.Context, live, from, to int64, out []Segment) ([]Segment, error) {
	hole := func(end int64) {
		if end <= from {
			return
		}
		if n := len(out) - 1; n >= 0 && out[n].Chunk == nil && out[n].Row+out[n].Rows == live {
			out[n].Rows += end - from
		} else {
			out = append(out, Segment{Row: live, Rows: end - from})
		}
		live += end - from
		from = end
	}
	take := func() error { // the rows of f.entry
		end := min(to, f.entry.Row+f.entry.Rows)
		p := Segment{Row: live, Rows: end - from, Chunk: f.chunk, First: f.entry.First + from - f.entry.Row}
		if f.entry.Tiles > 0 {
			var ref chunk.Ref
			if err := f.tiled(ctx, live, &ref); err != nil {
				return err
			}
			p.First, p.Tiles = 0, ref.Tiles
		} else if last := p.First + p.Rows - 1; p.First < 0 || last >= f.chunk.Index.Rows() {
			return beyond(f.chunk, last, f.chunk.Index.Rows())
		}
		live += end - from
		from = end
		if n := len(out) - 1; n >= 0 && p.Tiles == nil && out[n].Tiles == nil && out[n].Chunk == p.Chunk && out[n].Row+out[n].Rows == p.Row && out[n].First+out[n].Rows == p.First {
			out[n].Rows += p.Rows
			return nil
		}
		out = append(out, p)
		return nil
	}
	if f.chunk != nil && from >= f.entry.Row && from < f.entry.Row+f.entry.Rows {
		if err := take(); err != nil {
			return out, err
		}
	}
	if from == to {
		return out, nil
	}
	found, err := f.c.entries(ctx, [][2]int64{{from, to}}, nil)
	if err != nil {
		return out, err
	}
	for i := range found {
		hole(found[i].from)
		f.entry = found[i].entry
		if f.chunk, err = f.c.chunk(ctx, &f.entry, 0); err != nil {
			return out, err
		}
		if err := take(); err != nil {
			return out, err
		}
	}
	hole(to)
	return out, nil
}

// fillTiled describes an oversized sample whose tiles are known.
func fillTiled(ref *chunk.Ref, row int64, tiles []*chunk.Chunk) error {
	x := tiles[0].Index
	*ref = chunk.Ref{Row: row, Chunk: tiles[0], Items: 1, Tiles: tiles, Shape: x.Tile().Sample}
	size, err := ref.Shape.Bytes(x.DType())
	ref.Size, ref.Stored = size, size
	return err
}

// Channels is what a reader of the tensor wants of files that may hold another number.
func (c *Column) Channels() codec.Channels { return c.ct.channels }

// HTypeOf is what the samples mean, taken apart.
func (c *Column) HTypeOf() tensor.HType { return c.ct.htype }

// ClassNames are the names that numbers stand for; nil: the tensor has none. Shared, read-only.
func (c *Column) ClassNames() []string { return c.ct.schema.ClassNames }

// SampleBytes estimates how many bytes a sample of the tensor takes as it is stored, and decoded;
// 0: nothing is known.
func (c *Column) SampleBytes() (stored, decoded float64) {
	rec := c.view.snap.Record
	col := rec.Columns[c.ct.schema.ID]
	if rec.Rows > 0 {
		stored = float64(col.Bytes) / float64(rec.Rows)
	}
	if decoded = stored; col.MaxShape != nil && c.ct.dtype.Fixed() {
		decoded = float64(c.ct.dtype.Size())
		for i, most := range col.MaxShape {
			decoded *= float64(col.MinShape[i]+most) / 2
		}
	} else if c.Encoded() {
		decoded *= 10
	}
	if c.Sequence() { // shapes are those of items, of which a row may have many
		decoded = max(decoded, stored)
	}
	return stored, decoded
}

// URI is that of the dataset.
func (v *View) URI() string { return v.d.URI() }

// Place names where the dataset lies, as storage.Place does: equal for two addresses of one place.
func (v *View) Place() string { return storage.Place(v.d.store) }

// Counted is a view of n rows that is of no use but to be sliced: it checks what Slice is given.
func (v *View) Counted(n int64) *View {
	out := v.derive()
	out.n = n
	return out
}

// Spec makes another tensor of the same kind. Its shape is the one that was declared: -1 for axes
// that vary, nil: any.
func (c *Column) Spec() TensorSpec {
	ts := c.ct.schema
	return TensorSpec{Name: ts.Name, HType: ts.HType, DType: ts.DType, Shape: ts.Shape, Compression: ts.Compression, Quality: ts.Quality,
		Subsampling: ts.Subsampling, ClassNames: ts.ClassNames, ChunkBytes: ts.ChunkBytes, Info: ts.Info}
}

// SampleCodec is what the files of samples are encoded with; codec.None: samples are no files.
func (c *Column) SampleCodec() codec.ID {
	if c.ct.sampleCodec == nil {
		return codec.None
	}
	return c.ct.sampleCodec.ID()
}
