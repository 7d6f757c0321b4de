package read

import (
	"context"
	"sort"
	"unsafe"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Values is consecutive values of a segment: items of its chunk, one sample in tiles, or missing
// values. Unlike rows, the items of a sequence are values each.
type Values struct {
	Segment *Segment
	Item    int64 // first, in the chunk
	N       int64
}

// Values returns the rows of the segment as values. The tensor must have no sequences.
func (s *Segment) Values() Values { return Values{Segment: s, Item: s.First, N: s.Rows} }

// one returns value i alone.
func (v *Values) one(i int64) Values { return Values{Segment: v.Segment, Item: v.Item + i, N: 1} }

// Missing reports whether the values are missing.
func (v *Values) Missing() bool { return v.Segment.Chunk == nil }

// Tiled reports whether the values are one sample in tiles.
func (v *Values) Tiled() bool { return v.Segment.Tiles != nil }

// Coded reports whether the values are stored as files, such as JPEG. They must not be missing.
func (v *Values) Coded() bool { return v.Segment.Chunk.Index.SampleCodec() != codec.None }

// Stored returns the size of the values as stored, before block compression.
func (v *Values) Stored() int64 { return v.Segment.Chunk.Index.ItemsBytes(v.Item, v.N) }

// ItemBytes returns the size of value i as stored, before block compression.
func (v *Values) ItemBytes(i int64) int64 { return v.Segment.Chunk.Index.ItemBytes(v.Item + i) }

// DType returns the element type of the values, which are not missing.
func (v *Values) DType() tensor.DType { return v.Segment.Chunk.Index.DType() }

// Uniform reports whether all values have the shape of the first.
func (v *Values) Uniform() bool { return v.Tiled() || v.Segment.Chunk.Index.Uniform() }

// Shape returns the shape of value i, which is not missing. It is shared, read-only.
func (v *Values) Shape(i int64) tensor.Shape {
	if v.Tiled() {
		return v.Segment.Chunk.Index.Tile().Sample
	}
	return v.Segment.Chunk.Index.Shape(v.Item + i)
}

// Row returns the row of the dataset that value i belongs to.
func (v *Values) Row(i int64) int64 {
	s := v.Segment
	x := s.Chunk.Index
	if !x.Sequence() {
		return s.Row + v.Item + i - s.First
	}
	k := sort.Search(int(s.Rows), func(k int) bool {
		first, n := x.RowItemsRange(s.First + int64(k))
		return first+n > v.Item+i
	})
	return s.Row + int64(k)
}

// Ref fills ref for value i, which is not missing.
func (v *Values) Ref(i int64, ref *chunk.Ref) error {
	if v.Tiled() {
		return v.Segment.Ref(0, ref)
	}
	ItemRef(v.Segment.Chunk, v.Row(i), v.Item+i, ref)
	return nil
}

// Spans appends the bytes that reading the values takes.
func (v *Values) Spans(out []chunk.Span) []chunk.Span {
	if v.Missing() || v.Tiled() {
		return v.Segment.Spans(out)
	}
	return v.Segment.Chunk.Spans(v.Item, v.N, out)
}

// RegionSpans appends the bytes that reading a region of value i takes.
func (v *Values) RegionSpans(i int64, r chunk.Region, out []chunk.Span) ([]chunk.Span, error) {
	if !v.Tiled() {
		return v.Segment.Chunk.Spans(v.Item+i, 1, out), nil
	}
	var ref chunk.Ref
	if err := v.Ref(i, &ref); err != nil {
		return out, err
	}
	return ref.TileSpans(r, out), nil
}

// named adds to an error which row it is about: that of value i, or all.
func (v *Values) named(i int64, err error) error {
	if err == nil {
		return nil
	}
	row := v.Row(i)
	if v.N > 1 && !v.Coded() {
		return errs.New(errs.KindOf(err), "rows %d to %d: %w", row, v.Row(v.N-1), err)
	}
	return errs.InRow(errs.KindOf(err), row, "row %d: %w", row, err)
}

// Reader reads values on one goroutine, and counts the stored bytes that it reads.
type Reader struct {
	Worker *chunk.Worker
	Bytes  int64

	counted *chunk.Chunk // the blocks before end are in Bytes
	end     int64
}

// count adds the blocks of values to Bytes. Blocks that the values before share are counted once.
func (r *Reader) count(v *Values) {
	ch := v.Segment.Chunk
	switch {
	case v.Tiled():
		for _, t := range v.Segment.Tiles {
			r.Bytes += t.BlockBytes(0, t.Index.Items())
		}
		return
	case v.N == 0:
		return
	case ch.Index.Linked():
		r.Bytes += v.Stored()
		return
	}
	from, to := ch.Blocks(v.Item, v.N)
	if r.counted != ch || r.end > to || r.end < from {
		r.end = from
	}
	r.Bytes += to - r.end
	r.counted, r.end = ch, to
}

// CountPlan adds the blocks of a bulk read to Bytes.
func (r *Reader) CountPlan(plan *chunk.GatherPlan) {
	for i := range plan.Runs {
		run := &plan.Runs[i]
		for at := run.From; at < run.To; at = run.Chunk.BlockEnd(plan.Items, at, run.To) {
			r.Bytes += run.Chunk.BlockBytes(plan.Items[at], 1)
		}
	}
}

// Read decodes values into dst, one after the other. Errors name the row.
func (r *Reader) Read(ctx context.Context, v *Values, dst []byte, want codec.Channels) error {
	bad, err := r.read(ctx, v, dst, want)
	if err != nil {
		return v.named(bad, err)
	}
	r.count(v)
	return nil
}

func (r *Reader) read(ctx context.Context, v *Values, dst []byte, want codec.Channels) (bad int64, err error) {
	if v.Tiled() {
		var ref chunk.Ref
		if err := v.Ref(0, &ref); err != nil {
			return 0, err
		}
		return 0, r.Worker.Decode(ctx, &ref, dst, want)
	}
	if !v.Coded() {
		if int64(len(dst)) != v.Stored() {
			return 0, errs.Op("read chunk", v.Segment.Chunk.Key).New(errs.Corrupt, "%d values have %d bytes, want %d", v.N, v.Stored(), len(dst))
		}
		return 0, r.Worker.Items(ctx, v.Segment.Chunk, v.Item, v.N, dst)
	}
	refs, parts := make([]*chunk.Ref, v.N), make([][]byte, v.N)
	for k := range refs {
		refs[k] = &chunk.Ref{}
		if err := v.Ref(int64(k), refs[k]); err != nil {
			return int64(k), err
		}
		n := refs[k].Size
		parts[k], dst = dst[:n:n], dst[n:]
	}
	at, err := inRuns(ctx, refs, func(from, to int, failed func(i int, err error)) {
		r.Worker.DecodeRun(ctx, refs[from:to], parts[from:to], want, failed)
	})
	return int64(at), err
}

// ReadRegions decodes the regions[i] of values i into dst[i], and reads no more than these take. An
// empty dst[i] is left out. Errors name the row.
func (r *Reader) ReadRegions(ctx context.Context, v *Values, regions []chunk.Region, dst [][]byte, want codec.Channels) error {
	switch {
	case v.Tiled():
		return v.named(0, r.tiles(ctx, v, regions[0], dst[0], want))
	case !v.Coded():
		return r.copies(ctx, v, regions, dst)
	}
	var refs []*chunk.Ref
	var parts []codec.ROI
	var at []int64
	for i := range dst {
		if len(dst[i]) == 0 {
			continue
		}
		one, ref := v.one(int64(i)), &chunk.Ref{}
		if err := one.Ref(0, ref); err != nil {
			return err
		}
		from, to := regions[i].From, regions[i].To
		region := codec.Region{Y: int(from[0]), X: int(from[1]), Height: int(to[0] - from[0]), Width: int(to[1] - from[1])}
		refs, at = append(refs, ref), append(at, int64(i))
		parts = append(parts, codec.ROI{Region: region, To: &pixelSink{dst: dst[i], row: len(dst[i]) / region.Height}})
		r.count(&one)
	}
	bad, err := inRuns(ctx, refs, func(from, to int, failed func(i int, err error)) {
		r.Worker.DecodeROIs(ctx, refs[from:to], parts[from:to], want, failed)
	})
	if err != nil {
		return v.named(at[bad], err)
	}
	return nil
}

// tiles reads a region of a sample in tiles.
func (r *Reader) tiles(ctx context.Context, v *Values, region chunk.Region, dst []byte, want codec.Channels) error {
	if len(dst) == 0 {
		return nil
	}
	var ref chunk.Ref
	if err := v.Ref(0, &ref); err != nil {
		return err
	}
	n, err := r.Worker.DecodeRegion(ctx, &ref, region, dst, want)
	r.Bytes += n
	return err
}

// copies reads values that are arrays in one piece, and copies regions out of them.
func (r *Reader) copies(ctx context.Context, v *Values, regions []chunk.Region, dst [][]byte) error {
	for i := range dst {
		if len(dst[i]) == 0 {
			continue
		}
		one := v.one(int64(i))
		whole := make([]byte, one.Stored())
		if err := r.Worker.Items(ctx, v.Segment.Chunk, one.Item, 1, whole); err != nil {
			return one.named(0, err)
		}
		r.count(&one)
		if err := chunk.CutRegion(dst[i], whole, one.Shape(0), regions[i], int64(v.DType().Size())); err != nil {
			return one.named(0, err)
		}
	}
	return nil
}

// runBytes bounds the files that are read before they are decoded together.
const runBytes = 8 << 20

// inRuns decodes files in runs, until one fails. It returns the first that failed.
func inRuns(ctx context.Context, refs []*chunk.Ref, decode func(from, to int, failed func(i int, err error))) (bad int, err error) {
	for from := 0; from < len(refs); {
		to, sum := from, int64(0)
		for to < len(refs) && (to == from || sum+refs[to].Stored <= runBytes) {
			sum += refs[to].Stored
			to++
		}
		if ctx.Err() != nil {
			return from, errs.Cause(ctx, "decode files")
		}
		decode(from, to, func(i int, e error) {
			if err == nil || from+i < bad {
				bad, err = from+i, e
			}
		})
		if err != nil {
			return bad, err
		}
		from = to
	}
	return 0, nil
}

// pixelSink copies the pixels of a region.
type pixelSink struct {
	dst []byte
	row int // bytes
}

// Deliver copies row by row.
func (t *pixelSink) Deliver(pix []byte, stride int) error {
	for at, from := 0, 0; at < len(t.dst); at, from = at+t.row, from+stride {
		copy(t.dst[at:at+t.row], pix[from:])
	}
	return nil
}

// Native returns nil: Deliver copies the pixels.
func (t *pixelSink) Native() (call, arg unsafe.Pointer) { return nil, nil }

// Borrow returns the rows of a segment in place, as one array of values of dtype d and shape want.
// The caller holds keep while it uses data. Returns nil if the rows are not stored so, or are not
// in mapped memory: they must be read, which returns the error, if there is one.
func (r *Reader) Borrow(ctx context.Context, s *Segment, d tensor.DType, want tensor.Shape) (data []byte, keep any) {
	if s.Chunk == nil || s.Tiles != nil {
		return nil, nil
	}
	x := s.Chunk.Index
	shape := x.Shape(s.First)
	if x.DType() != d || !x.Uniform() || x.Sequence() || x.SampleCodec() != codec.None || !shape.Equal(want) && len(shape)+len(want) > 0 {
		return nil, nil
	}
	data, keep = s.Chunk.Borrow(ctx, s.First, s.Rows)
	if len(data) == 0 || uintptr(unsafe.Pointer(unsafe.SliceData(data)))%uintptr(d.Size()) != 0 {
		return nil, nil
	}
	r.Bytes += int64(len(data))
	return data, keep
}
