package scan

import (
	"context"
	"math"

	"deeplake/core/array"
	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/query"
	"deeplake/core/read"
	"deeplake/core/tensor"
)

// region reads the region of each value that spans select, and no more bytes than it takes: of
// pictures the region, of values in tiles the tiles that touch it. Other values are read whole.
func (v *values) region(ctx context.Context, spans []query.Span) (*array.Column, error) {
	runs := v.runs()
	cuts := false
	for i := range runs {
		s := &runs[i]
		cuts = cuts || s.Tiled() || !s.Missing() && s.Coded()
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

// blame finds the first value that lacks the regions of spans, so that the error names its row.
func (k *cutter) blame(runs []read.Values, err error) error {
	for i := range runs {
		s := &runs[i]
		for j := range s.N {
			if s.Missing() {
				break
			}
			if _, own := k.of(s.Shape(j), s.Row(j)); own != nil {
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
	return array.Index(nil, c, items)
}

// cutter reads regions.
type cutter struct {
	v       *values
	spans   []query.Span
	picture bool // only rows and columns of pixels are cut: channels lie together
}

// cut is the region to read of one value, and the indices to apply to it afterwards.
type cut struct {
	region chunk.Region
	rest   []query.Span
}

// of finds the region of a value of shape s. It applies an index or a slice of step 1 along each
// axis that has one. rest is the same for all values with as many axes.
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

// axis narrows one axis of a region, and returns the index to apply afterwards.
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
func (k *cutter) read(ctx context.Context, runs []read.Values) (*array.Column, error) {
	v := k.v
	n := v.r.at.n
	regions, shapes, nulls := make([]chunk.Region, n), make([]tensor.Shape, n), []bool(nil)
	starts, total, row := make([]int, 1, n+1), int64(0), 0
	var spans []chunk.Span
	var rest []query.Span
	for i := range runs {
		s := &runs[i]
		for j := range s.N {
			if s.Missing() {
				if nulls == nil {
					nulls = make([]bool, n)
				}
				nulls[row] = true
			} else {
				c, err := k.of(s.Shape(j), s.Row(j))
				if err != nil {
					return nil, err
				}
				regions[row], shapes[row], rest = c.region, c.region.Shape(), c.rest
				elements, err := shapes[row].Elements()
				if err != nil {
					return nil, err
				}
				if total += elements; total > tensor.MaxSampleBytes {
					return nil, errs.New(errs.Invalid, "%d values do not fit into memory", n)
				}
				if s.Tiled() || elements > 0 {
					if spans, err = s.RegionSpans(j, c.region, spans); err != nil {
						return nil, err
					}
				}
			}
			starts = append(starts, int(total))
			row++
		}
	}
	if v.f.remote() {
		defer prefetch(ctx, v.r.io.Worker, spans)()
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
		if !s.Missing() {
			dst := make([][]byte, s.N)
			for j := range dst {
				from, to := int64(starts[row+j])*size, int64(starts[row+j+1])*size
				dst[j] = mem[from:to:to]
			}
			if err := v.r.io.ReadRegions(ctx, s, regions[row:row+int(s.N)], dst, v.f.column.Channels()); err != nil {
				return nil, err
			}
		}
		row += int(s.N)
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

// level converts a column to one of fixed shape, if its rows have equal shapes.
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
