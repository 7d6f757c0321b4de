package scan

import (
	"context"
	"slices"

	"deeplake/core/array"
	"deeplake/core/chunk"
	"deeplake/core/dataset/pieces"
	"deeplake/core/errs"
	"deeplake/core/query"
	"deeplake/core/read"
	"deeplake/core/slab"
	"deeplake/core/tensor"
)

// reader reads columns of a table, with the memory and the decoders of one goroutine.
type reader struct {
	table    *Table
	io       read.Reader
	at       located
	listed   rowList  // that were read last
	picked   rowRange // of the list that was read last
	copier   pieces.Copier
	free     []buffer         // given back, see Recycle
	given    map[uintptr]bool // where memory lies that may be given back
	borrowed []any            // keeps borrowed columns valid
	ring     *slab.Ring       // of the memory of an Owned; nil: Go's heap
	slabs    []*slab.Slab     // of one Read
	counts   bool             // times keep the unit of their tensor

	decoded int64
}

// Bytes is the number of stored bytes that were read, and how many came of them.
func (r *reader) Bytes() (read, decoded int64) { return r.io.Bytes, r.decoded }

// Close frees the decoders.
func (r *reader) Close() {
	if r.io.Worker != nil {
		r.io.Worker.Close()
	}
	r.io.Worker = nil
}

// Read reads rows of a column, by the contract of query.Reader. The shapes of a list are (number of
// items,).
func (r *reader) Read(ctx context.Context, column int, rows query.Rows, want query.Want, part []query.Span) (*array.Column, error) {
	f := r.table.field(column)
	if rows.List != nil {
		rows.N = int64(len(rows.List))
	}
	c, err := r.readField(ctx, f, column, rows, want, part)
	if err == nil && want == query.Values && !r.counts {
		c, err = f.micros(c)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, errs.Cause(ctx, "read tensor")
		}
		return nil, f.nameFile(ctx, errs.Wrap(errs.Storage, "read tensor", f.name, err))
	}
	return c, nil
}

func (r *reader) readField(ctx context.Context, f *field, column int, rows query.Rows, want query.Want, part []query.Span) (*array.Column, error) {
	if err := checkRows(rows, r.table.rows); err != nil {
		return nil, err
	}
	if f.compute != nil {
		return computed(ctx, f, rows, want, part)
	}
	typ, err := r.table.Resolve(ctx, column)
	if err != nil {
		return nil, err
	}
	if want == query.Values && part == nil {
		if c, err := r.bulk(ctx, f, typ, rows); c != nil || err != nil {
			return c, err
		}
	}
	r.worker(f)
	if err := r.at.locate(ctx, f, rows); err != nil {
		return nil, err
	}
	v := &values{r: r, f: f, typ: typ}
	var c *array.Column
	switch {
	case want != query.Values:
		c = v.about(want)
	case part != nil:
		c, err = v.region(ctx, part)
	case typ.List:
		c, err = v.lists(ctx)
	default:
		c, err = v.plain(ctx, v.runs(), r.at.n)
	}
	if err != nil || r.at.at == nil {
		return c, err
	}
	out := c.Take(r.at.at)
	r.Recycle(c, out)
	return out, nil
}

// worker makes the decoders of the reader, once.
func (r *reader) worker(f *field) {
	if r.io.Worker == nil {
		r.io.Worker = f.view.NewWorker()
	}
}

// checkRows refuses rows that a table does not have.
func checkRows(rows query.Rows, n int64) error {
	if rows.List == nil {
		if rows.From < 0 || rows.N < 0 || rows.N > n-rows.From {
			return errs.New(errs.Range, "rows %d to %d are out of range, there are %d rows", rows.From, rows.From+rows.N, n)
		}
		return nil
	}
	for _, row := range rows.List {
		if row < 0 || row >= n {
			return errs.New(errs.Range, "row %d is out of range, there are %d rows", row, n)
		}
	}
	return nil
}

// values reads the segments that a reader has located.
type values struct {
	r   *reader
	f   *field
	typ array.Type
}

// runs returns the stored rows of a tensor with one value per row.
func (v *values) runs() []read.Values {
	out := make([]read.Values, len(v.r.at.segments))
	for i := range out {
		out[i] = v.r.at.segments[i].Values()
	}
	return out
}

// about results from index pages alone.
func (v *values) about(want query.Want) *array.Column {
	n := v.r.at.n
	nulls := make([]bool, n)
	var sizes []int64
	var shapes []tensor.Shape
	if want == query.Length {
		sizes = make([]int64, n)
	} else if want == query.Shapes {
		shapes = make([]tensor.Shape, n)
	}
	row, holes := 0, false
	var ref chunk.Ref
	for i := range v.r.at.segments {
		p := &v.r.at.segments[i]
		for k := range p.Rows {
			switch {
			case p.Chunk == nil:
				nulls[row], holes = true, true
			case want == query.Nulls:
			case v.typ.List:
				_, items := p.Chunk.Index.RowItemsRange(p.First + k)
				if sizes != nil {
					sizes[row] = items
				} else {
					shapes[row] = tensor.Shape{items}
				}
			case p.Tiles != nil:
				_ = p.Ref(0, &ref) // only its size can be wrong
				v.shape(row, ref.Shape, sizes, shapes, 0)
			default:
				v.shape(row, p.Chunk.Index.Shape(p.First+k), sizes, shapes, p.Chunk.Index.ItemBytes(p.First+k))
			}
			row++
		}
	}
	if want == query.Nulls {
		return &array.Column{Type: array.Type{DType: tensor.Bool, Shape: tensor.Shape{}}, N: n, Same: tensor.Shape{}, Data: nulls}
	}
	if !holes {
		nulls = nil
	}
	if want == query.Length {
		return &array.Column{Type: array.Type{DType: tensor.Int64, Shape: tensor.Shape{}}, N: n, Null: nulls, Same: tensor.Shape{}, Data: sizes}
	}
	return shapesColumn(shapes, nulls)
}

// shape notes the shape of a value, or its length: bytes of text, the first axis of an array.
func (v *values) shape(row int, s tensor.Shape, sizes []int64, shapes []tensor.Shape, bytes int64) {
	switch {
	case shapes != nil && s == nil:
		shapes[row] = tensor.Shape{}
	case shapes != nil:
		shapes[row] = s
	case !v.typ.DType.Fixed():
		sizes[row] = bytes
	case len(s) > 0:
		sizes[row] = s[0]
	default:
		sizes[row] = 1
	}
}

// shapesColumn is shapes as a column of arrays.
func shapesColumn(shapes []tensor.Shape, nulls []bool) *array.Column {
	c := &array.Column{Type: array.Type{DType: tensor.Int64, Dims: 1, Shape: tensor.Shape{-1}}, N: len(shapes), Null: nulls}
	axes, same, total := -1, true, 0
	for _, s := range shapes {
		if total += len(s); s == nil {
			continue
		}
		same = same && (axes < 0 || axes == len(s))
		axes = len(s)
	}
	axes = max(axes, 0)
	if same {
		data := make([]int64, 0, axes*len(shapes))
		for _, s := range shapes {
			if data = append(data, s...); s == nil {
				data = append(data, make([]int64, axes)...)
			}
		}
		c.Type.Shape = tensor.Shape{int64(axes)}
		c.Same, c.Data = tensor.Shape{int64(axes)}, data
		return c
	}
	data := make([]int64, 0, total)
	c.Shapes, c.Starts = make([]tensor.Shape, len(shapes)), make([]int, 1, len(shapes)+1)
	for i, s := range shapes {
		if s != nil {
			c.Shapes[i] = tensor.Shape{int64(len(s))}
		}
		data = append(data, s...)
		c.Starts = append(c.Starts, len(data))
	}
	c.Data = data
	return c
}

// lists reads rows that are lists of values.
func (v *values) lists(ctx context.Context) (*array.Column, error) {
	n := v.r.at.n
	out := &array.Column{Type: v.typ, N: n, Ends: make([]int, 0, n)}
	var runs []read.Values
	items := 0
	for i := range v.r.at.segments {
		p := &v.r.at.segments[i]
		for k := range p.Rows {
			if p.Chunk == nil {
				out.Null = slices.Grow(out.Null, n)[:n]
				out.Null[len(out.Ends)] = true
			} else {
				_, count := p.Chunk.Index.RowItemsRange(p.First + k)
				items += int(count)
			}
			out.Ends = append(out.Ends, items)
		}
		if p.Chunk != nil {
			if first, count := p.Items(); count > 0 {
				runs = append(runs, read.Values{Segment: p, Item: first, N: count})
			}
		}
	}
	one := *v
	one.typ.List = false
	var err error
	out.Items, err = one.plain(ctx, runs, items)
	return out, err
}
