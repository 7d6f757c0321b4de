package scan

import (
	"context"
	"math"
	"unsafe"

	"deeplake/core/array"
	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/query"
	"deeplake/core/tensor"
)

// region reads of each value what spans say, and no more than that takes: of pictures the region,
// of values in tiles the tiles that have some of it. What is stored in one piece is read whole.
func (v *values) region(ctx context.Context, spans []query.Span) (*array.Column, error) {
	runs := v.runs()
	cuts := false
	for i := range runs {
		s := &runs[i]
		cuts = cuts || s.tiled() || !s.hole() && s.segment.Chunk.Index.SampleCodec() != codec.None
	}
	if v.typ.List || !v.typ.DType.Fixed() || !cuts {
		var c *array.Column
		var err error
		if v.typ.List {
			c, err = v.lists(ctx)
		} else {
			c, err = v.plain(ctx, runs, v.r.at.n)
		}
		if err != nil {
			return nil, err
		}
		out, err := index(c, spans)
		if err != nil && !v.typ.List && v.typ.DType.Fixed() {
			k := cutter{v: v, spans: spans}
			err = k.blame(runs, err)
		}
		return out, err
	}
	k := cutter{v: v, spans: spans, picture: v.f.column.Encoded()}
	return k.read(ctx, runs)
}

// blame finds the first value that has not what spans say: the error is about a row among those
// that were read.
func (k *cutter) blame(runs []segmentRun, err error) error {
	for i := range runs {
		s := &runs[i]
		for j := range s.n {
			if s.hole() {
				break
			}
			if _, own := k.of(s.shape(j), s.rowOf(j)); own != nil {
				return own
			}
		}
	}
	return err
}

// index is c[spans].
func index(c *array.Column, spans []query.Span) (*array.Column, error) {
	items := make([]array.Item, len(spans))
	number := func(p *int64) *array.Column {
		if p == nil {
			return nil
		}
		return array.Constant(array.Type{DType: tensor.Int64, Shape: tensor.Shape{}}, *p, c.N)
	}
	for i, s := range spans {
		items[i] = array.Item{Ellipsis: s.Ellipsis, Slice: s.At == nil && !s.Ellipsis,
			At: number(s.At), Low: number(s.Low), High: number(s.High), Step: number(s.Step)}
	}
	return array.Index(c, items)
}

// cutter reads regions.
type cutter struct {
	v       *values
	spans   []query.Span
	picture bool // only rows and columns of pixels are cut: channels lie together
}

// cut is what is read of one value: the region, and what is left to be done with it.
type cut struct {
	region chunk.Region
	rest   []query.Span
}

// of finds the region of a value of shape s: along each axis that has one index, or a slice of step
// 1, what that says. rest is the same for all values with as many axes.
func (k *cutter) of(s tensor.Shape, row int64) (cut, error) {
	named := 0
	for _, sp := range k.spans {
		if !sp.Ellipsis {
			named++
		}
	}
	c := cut{region: chunk.Region{From: make(tensor.Shape, len(s)), To: s.Clone()}}
	if named > len(s) {
		return c, errs.New(errs.Range, "row %d: %d indices for a value of shape %s", row, named, s)
	}
	axis := 0
	for _, sp := range k.spans {
		if sp.Ellipsis {
			axis += len(s) - named
			c.rest = append(c.rest, sp)
			continue
		}
		rest, err := k.axis(&c.region, axis, s[axis], sp)
		if err != nil {
			return c, errs.New(errs.KindOf(err), "row %d: %w", row, err)
		}
		c.rest = append(c.rest, rest)
		axis++
	}
	return c, nil
}

// axis narrows one axis of a region, and says what is left to be done.
func (k *cutter) axis(r *chunk.Region, axis int, n int64, sp query.Span) (query.Span, error) {
	if sp.At != nil {
		i := *sp.At
		if i < 0 {
			i += n
		}
		if i < 0 || i >= n {
			return sp, errs.New(errs.Range, "index %d is out of bounds for axis %d of size %d", *sp.At, axis, n)
		}
		if k.picture && axis > 1 {
			return sp, nil
		}
		r.From[axis], r.To[axis] = i, i+1
		return query.Span{At: new(int64)}, nil
	}
	if sp.Step != nil && *sp.Step != 1 || k.picture && axis > 1 {
		return sp, nil
	}
	clip := func(p *int64, missing int64) int64 {
		if p == nil {
			return missing
		}
		i := *p
		if i < 0 && i > math.MinInt64+n {
			i += n
		}
		return min(max(i, 0), n)
	}
	r.From[axis] = clip(sp.Low, 0)
	r.To[axis] = max(clip(sp.High, n), r.From[axis])
	return query.Span{}, nil
}

// read reads the regions of all values, and does the rest.
func (k *cutter) read(ctx context.Context, runs []segmentRun) (*array.Column, error) {
	v := k.v
	n := v.r.at.n
	cuts, shapes, nulls := make([]cut, n), make([]tensor.Shape, n), []bool(nil)
	starts, total, row := make([]int, 1, n+1), int64(0), 0
	var spans []chunk.Span
	var rest []query.Span
	var ref chunk.Ref
	for i := range runs {
		s := &runs[i]
		for j := range s.n {
			if s.hole() {
				if nulls == nil {
					nulls = make([]bool, n)
				}
				nulls[row] = true
			} else {
				c, err := k.of(s.shape(j), s.rowOf(j))
				if err != nil {
					return nil, err
				}
				cuts[row], shapes[row], rest = c, c.region.Shape(), c.rest
				elements, err := shapes[row].Elements()
				if err != nil {
					return nil, err
				}
				if total += elements; total > tensor.MaxSampleBytes {
					return nil, errs.New(errs.Invalid, "%d values do not fit into memory", n)
				}
				if s.tiled() {
					if err := s.ref(j, &ref); err != nil {
						return nil, err
					}
					spans = ref.TileSpans(c.region, spans)
				} else if elements > 0 {
					spans = s.segment.Chunk.Spans(s.item+j, 1, spans)
				}
			}
			starts = append(starts, int(total))
			row++
		}
	}
	if v.f.view.Remote() {
		defer prefetch(ctx, v.r.worker, spans)()
	}
	stored := v.f.column.DType()
	data, mem, err := v.r.newData(stored, total)
	if err != nil {
		return nil, err
	}
	size := int64(stored.Size())
	row = 0
	for i := range runs {
		s := &runs[i]
		if !s.hole() {
			places := make([][]byte, s.n)
			for j := range places {
				from, to := int64(starts[row+j])*size, int64(starts[row+j+1])*size
				places[j] = mem[from:to:to]
			}
			if err := k.fill(ctx, s, cuts[row:row+int(s.n)], places); err != nil {
				return nil, err
			}
		}
		row += int(s.n)
	}
	settle(stored, data, mem)
	v.r.decoded += int64(len(mem))
	c := &array.Column{Type: v.typ, N: n, Null: nulls, Shapes: shapes, Starts: starts, Data: data}
	if c.Type.Shape != nil {
		c.Type.Shape = nil // of the regions
	}
	if rest == nil { // there is no value
		rest = k.spans
	}
	return index(level(c), rest)
}

// level makes a column of one shape of one whose rows happen to have one.
func level(c *array.Column) *array.Column {
	if c.N == 0 || c.Null != nil {
		return c
	}
	for _, s := range c.Shapes {
		if !s.Equal(c.Shapes[0]) {
			return c
		}
	}
	c.Same, c.Shapes, c.Starts = c.Shapes[0], nil, nil
	return c
}

// fill reads the regions of a run.
func (k *cutter) fill(ctx context.Context, s *segmentRun, cuts []cut, places [][]byte) error {
	v := k.v
	w := v.r.worker
	ch := s.segment.Chunk
	var ref chunk.Ref
	if s.tiled() {
		if err := s.ref(0, &ref); err != nil {
			return err
		}
		if len(places[0]) == 0 {
			return nil
		}
		read, err := w.DecodeRegion(ctx, &ref, cuts[0].region, places[0], v.f.column.Channels())
		v.r.read += read
		return v.named(s, 0, err)
	}
	if ch.Index.SampleCodec() == codec.None {
		return k.copies(ctx, s, cuts, places)
	}
	var refs []*chunk.Ref
	var parts []codec.ROI
	var at []int64
	for j := range places {
		if len(places[j]) == 0 {
			continue
		}
		own := &chunk.Ref{}
		if err := s.ref(int64(j), own); err != nil {
			return err
		}
		r := cuts[j].region
		region := codec.Region{Y: int(r.From[0]), X: int(r.From[1]), Height: int(r.To[0] - r.From[0]), Width: int(r.To[1] - r.From[1])}
		refs, at = append(refs, own), append(at, int64(j))
		parts = append(parts, codec.ROI{Region: region, To: &pixelSink{dst: places[j], row: len(places[j]) / region.Height}})
		v.r.count(&segmentRun{segment: s.segment, item: s.item + int64(j), n: 1})
	}
	bad, err := inRuns(ctx, refs, func(from, to int, failed func(i int, err error)) {
		w.DecodeROIs(ctx, refs[from:to], parts[from:to], v.f.column.Channels(), failed)
	})
	if err != nil {
		return v.named(s, at[bad], err)
	}
	return nil
}

// copies reads values that are stored in one piece, and copies regions out of them.
func (k *cutter) copies(ctx context.Context, s *segmentRun, cuts []cut, places [][]byte) error {
	v := k.v
	for j := range places {
		if len(places[j]) == 0 {
			continue
		}
		one := segmentRun{segment: s.segment, item: s.item + int64(j), n: 1}
		whole := make([]byte, one.stored())
		if err := v.r.worker.Items(ctx, s.segment.Chunk, one.item, 1, whole); err != nil {
			return v.named(&one, 0, err)
		}
		v.r.count(&one)
		if err := chunk.CutRegion(places[j], whole, one.shape(0), cuts[j].region, int64(v.f.column.DType().Size())); err != nil {
			return v.named(&one, 0, err)
		}
	}
	return nil
}

// sink copies the pixels of a region.
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

// Native is nothing: pixels are copied here.
func (t *pixelSink) Native() (call, arg unsafe.Pointer) { return nil, nil }
