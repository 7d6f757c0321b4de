package dataset

import (
	"context"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/dataset/origin"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/read"
	"deeplake/core/tensor"
	"deeplake/core/version/chunkmap"
)

// Column is one tensor of a view. It never changes and is safe in parallel, with one Worker a
// goroutine. Errors of its samples name chunks. The caller adds the row.
type Column struct {
	view *View
	ct   *columnType
	tree chunkmap.Tree

	access read.Access
}

// newColumn makes a column of v.
func newColumn(v *View, ct *columnType) *Column {
	c := &Column{view: v, ct: ct, tree: v.snap.Tree(ct.schema.ID)}
	c.access = read.Access{DecodeRun: c.decodeRun, DecodeROIs: c.decodeROIs, Prefetch: c.prefetch, StoredBytes: c.StoredBytes(),
		Chunks:     v.snap.Record.Columns[ct.schema.ID].Chunks * v.n / max(v.snap.Record.Rows, 1),
		GatherPlan: c.gatherPlan, CopyRange: c.copyRange, Zones: c.zones, HType: ct.schema.HType, Time: ct.time, Info: ct.schema.Info, Levels: levelsOf(v.snap.Schema, ct.schema)}
	if ct.htype.IsVideo() {
		c.access.Tables = tablesOf(v.snap.Schema, ct.schema)
	}
	if _, ok := v.types[origin.Tensor]; ok {
		c.access.Origin = func(ctx context.Context, row int64, _ error) string { return v.originOf(ctx, row) }
	}
	if ct.packs {
		c.access.PackRun = c.packRun
	}
	if ct.blockCodec != nil {
		c.access.Unpacked = c.unpacked
	}
	if ct.htype.IsImage() && !ct.schema.Upright {
		c.access.TurnUpright = c.turnUpright
	}
	return c
}

// Access returns the optional abilities of the column.
func (c *Column) Access() read.Access { return c.access }

// Name returns the tensor's name.
func (c *Column) Name() string { return c.ct.schema.Name }

// DType returns the element type of decoded samples; 0 while no sample has decided it.
func (c *Column) DType() tensor.DType { return c.ct.dtype }

// Sequence reports whether a row is a list of items.
func (c *Column) Sequence() bool { return c.ct.list }

// Encoded reports whether samples are files that cost far more to decode than to copy.
func (c *Column) Encoded() bool { return c.ct.sampleCodec != nil }

// chunk returns the chunk of an entry, or its k-th tile, after holding it against the tensor.
func (c *Column) chunk(ctx context.Context, e *format.Entry, k int64) (*chunk.Chunk, error) {
	return c.chunkOf(ctx, e, k, false)
}

// chunkOf is chunk for an entry of a leaf whose rows may be scattered.
func (c *Column) chunkOf(ctx context.Context, e *format.Entry, k int64, scattered bool) (*chunk.Chunk, error) {
	ch, err := c.view.d.chunks.get(ctx, c.tree, e, k, scattered)
	if err == nil {
		err = c.ct.fits(ch)
	}
	return ch, err
}

// fits refuses a chunk of samples of another dtype, or of sequences where the tensor has none:
// readers take memory by the tensor, and place bytes by the chunk.
func (ct *columnType) fits(ch *chunk.Chunk) error {
	if d := ch.Index.DType(); ct.dtype != 0 && d != ct.dtype {
		return errs.Op("read chunk", ch.Key).New(errs.Corrupt, "its samples have dtype %s, those of tensor %q have %s; run fsck", d, ct.schema.Name, ct.dtype)
	}
	if list := ch.Index.Sequence(); list != ct.list {
		return errs.Op("read chunk", ch.Key).New(errs.Corrupt, "it has sequences (%v), tensor %q has (%v); run fsck", list, ct.schema.Name, ct.list)
	}
	return nil
}

// Items splits a sequence into one ref an item, len(items) == ref.Items.
func (c *Column) Items(_ context.Context, ref *chunk.Ref, items []chunk.Ref) error {
	for k := range items {
		read.ItemRef(ref.Chunk, ref.Row, ref.Item+int64(k), &items[k])
	}
	return nil
}

// Decode reads, checks and decodes a sample into dst, len(dst) == ref.Size. A sequence of encoded
// items is decoded item by item instead.
func (c *Column) Decode(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error {
	return w.Decode(ctx, ref, dst, c.ct.channels)
}

// Stored copies the stored bytes of a sample into dst, len(dst) == ref.Stored.
func (c *Column) Stored(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error {
	return w.Stored(ctx, ref, dst)
}

// Integers returns the integers of rows of a column, and -1 for a row without one. It is for
// columns of numbers that rows go by, such as labels.
func Integers(ctx context.Context, c *Column, rows []int64) ([]int64, error) {
	w := c.view.NewWorker()
	defer w.Close()
	refs, out := make([]chunk.Ref, len(rows)), make([]int64, len(rows))
	if err := c.Resolve(ctx, rows, refs); err != nil {
		return nil, err
	}
	var p []byte
	for i := range refs {
		ref := &refs[i]
		if out[i] = -1; ref.Hole() {
			continue
		}
		if !c.ct.dtype.Fixed() || c.ct.list || ref.Size != int64(c.ct.dtype.Size()) {
			return nil, errs.New(errs.Type, "row %d of tensor %q is no single number", rows[i], c.Name())
		}
		p = append(p[:0], make([]byte, ref.Size)...)
		if err := c.Decode(ctx, ref, p, w); err != nil {
			return nil, errs.New(errs.KindOf(err), "row %d: %w", rows[i], err)
		}
		v, ok := readInt(c.ct.dtype, p)
		if !ok {
			return nil, errs.New(errs.Type, "row %d of tensor %q is no int64 number", rows[i], c.Name())
		}
		out[i] = v
	}
	return out, nil
}

func (c *Column) decodeRun(ctx context.Context, refs []*chunk.Ref, dst [][]byte, w *chunk.Worker, failed func(i int, err error)) {
	w.DecodeRun(ctx, refs, dst, c.ct.channels, failed)
}

func (c *Column) packRun(ctx context.Context, refs []*chunk.Ref, forms []chunk.Form, rois []codec.ROI, w *chunk.Worker, deliver chunk.Packed, failed func(i int, err error)) {
	w.PackRun(ctx, refs, forms, rois, c.ct.channels, deliver, failed)
}

func (c *Column) decodeROIs(ctx context.Context, refs []*chunk.Ref, parts []codec.ROI, w *chunk.Worker, failed func(i int, err error)) {
	w.DecodeROIs(ctx, refs, parts, c.ct.channels, failed)
}

func (c *Column) turnUpright(ctx context.Context, ref *chunk.Ref, w *chunk.Worker) error {
	return w.TurnUpright(ctx, ref, c.ct.channels)
}

// Channels returns the form in which files are decoded.
func (c *Column) Channels() codec.Channels { return c.ct.channels }

// HTypeOf returns the htype of the samples, parsed.
func (c *Column) HTypeOf() tensor.HType { return c.ct.htype }

// ClassNames returns the names of numbers; nil: the tensor has none. Shared, read-only.
func (c *Column) ClassNames() []string { return c.ct.schema.ClassNames }

// SampleBytes estimates the bytes of a sample of the tensor, stored and decoded; 0: unknown.
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
	if c.Sequence() { // shapes belong to items, of which a row may have many
		decoded = max(decoded, stored)
	}
	return stored, decoded
}

// Spec makes another tensor of the same kind. Its shape is the one that was declared: -1 for axes
// that vary, nil: any.
func (c *Column) Spec() TensorSpec {
	ts := c.ct.schema
	return TensorSpec{Name: ts.Name, HType: ts.HType, DType: stated(ts), Shape: ts.Shape, Compression: ts.Compression, Quality: ts.Quality,
		Subsampling: ts.Subsampling, ClassNames: ts.ClassNames, ChunkBytes: ts.ChunkBytes, Info: ts.Info,
		AddClasses: !ts.Closed, Upright: ts.Upright, Downsample: downsampleOf(c.view.snap.Schema, ts), files: ts.Files}
}

// KeepsFile reports whether a tensor made by Spec stores the file of a sample unchanged.
func (c *Column) KeepsFile(ref *chunk.Ref) bool {
	id := ref.Chunk.Index.SampleCodec()
	return id == c.SampleCodec() || c.ct.files == format.FilesOwn && id != codec.None
}

// SampleCodec returns the codec of the files of samples; codec.None: samples are no files.
func (c *Column) SampleCodec() codec.ID {
	if c.ct.sampleCodec == nil {
		return codec.None
	}
	return c.ct.sampleCodec.Describe().ID
}
