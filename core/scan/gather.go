package scan

import (
	"context"
	"slices"
	"strings"
	"unsafe"

	"deeplake/core/array"
	"deeplake/core/chunk"
	"deeplake/core/query"
	"deeplake/core/read"
	"deeplake/core/tensor"
)

// inBulk reports whether the values of a column are arrays of one shape, as far as its type says,
// so that many are read together.
func inBulk(f *field, typ *array.Type) bool {
	if typ.List || !typ.DType.Fixed() || typ.Dims < 0 || f.column.Encoded() {
		return false
	}
	for _, n := range typ.Shape {
		if n < 0 {
			return false
		}
	}
	return true
}

// bulk reads rows of a column by the fastest way. c is nil where single segments are as fast.
func (r *reader) bulk(ctx context.Context, f *field, typ array.Type, rows query.Rows) (c *array.Column, err error) {
	switch {
	case rows.N < 2:
		return nil, nil
	case !typ.List && typ.DType != 0 && !typ.DType.Fixed():
		return r.texts(ctx, f, typ, rows)
	case !inBulk(f, &typ):
		return nil, nil
	}
	if start, step, regular := f.view.Regular(); regular && rows.List == nil {
		low := start + rows.From*step
		switch {
		case step == 1:
			return r.scattered(ctx, f, typ, low, low+rows.N)
		case step > 1:
			if c, err := r.strided(ctx, f, typ, low, rows.N, step); c != nil || err != nil {
				return c, err
			}
		}
	}
	list := r.listed.rows(f.view, rows)
	if c, err := r.dense(ctx, f, typ, list); c != nil || err != nil {
		return c, err
	}
	return r.gather(ctx, f, typ, list)
}

// scattered reads rows [from, to) of the dataset if they lie in many pieces. c is nil where they do
// not, and where some cannot be read so.
func (r *reader) scattered(ctx context.Context, f *field, typ array.Type, from, to int64) (c *array.Column, err error) {
	if scattered, err := f.column.Pieces().Scattered(ctx, from, to); !scattered || err != nil {
		return nil, nil // the segments report the error
	}
	if !f.remote() {
		if c, err := r.copied(ctx, f, typ, from, to); c != nil || err != nil {
			return c, err
		}
	}
	list := make([]int64, to-from)
	for i := range list {
		list[i] = from + int64(i)
	}
	return r.gather(ctx, f, typ, list)
}

// copied reads rows [from, to) of the dataset, one chunk after the other. c is nil where another
// way must be taken.
func (r *reader) copied(ctx context.Context, f *field, typ array.Type, from, to int64) (*array.Column, error) {
	each, err := typ.Shape.Elements()
	if err != nil || each == 0 {
		return nil, nil
	}
	r.worker(f)
	stored := f.column.DType()
	data, mem, err := r.newData(stored, (to-from)*each)
	if err != nil {
		return nil, err
	}
	before := r.copier.Bytes
	if ok, err := r.copier.Copy(ctx, f.column.Pieces(), from, to, typ.Shape, mem, r.io.Worker); !ok || err != nil {
		return nil, ctx.Err() // the other ways report which row cannot be read
	}
	r.io.Bytes += r.copier.Bytes - before
	r.decoded += int64(len(mem))
	settle(stored, data, mem)
	return evenColumn(typ, int(to-from), typ.Shape, data), nil
}

// evenColumn makes a column of n values of one shape.
func evenColumn(typ array.Type, n int, shape tensor.Shape, data any) *array.Column {
	c := &array.Column{Type: typ, N: n, Same: tensor.Shape{}, Data: data}
	if len(shape) > 0 {
		c.Same = shape
	}
	return c
}

// gather reads rows of the dataset, the samples of each chunk together. c is nil where it cannot,
// and where a sample cannot be read: the path of segments reports which.
func (r *reader) gather(ctx context.Context, f *field, typ array.Type, list []int64) (c *array.Column, err error) {
	plan, err := read.PlanGather(ctx, f.column, f.column.DType(), slices.Clone(list))
	if err != nil || plan == nil || !plan.Shape.Equal(typ.Shape) && len(plan.Shape)+len(typ.Shape) > 0 {
		return nil, nil
	}
	r.worker(f)
	stored := f.column.DType()
	data, mem, err := r.newData(stored, int64(len(list))*plan.Size/int64(stored.Size()))
	if err != nil {
		return nil, err
	}
	b := read.Bulk{}
	b.Add(f.name, plan, mem)
	b.Cut(1)
	if f.remote() {
		defer prefetch(ctx, r.io.Worker, b.Spans(0, nil))()
	}
	for job := range b.Jobs() {
		if err := b.Run(ctx, job, r.io.Worker); err != nil {
			return nil, err
		}
	}
	if b.Failure().Err != nil || ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r.io.CountPlan(plan)
	r.decoded += int64(len(mem))
	settle(stored, data, mem)
	c = evenColumn(typ, len(list), plan.Shape, data)
	if len(plan.Holes) > 0 {
		c.Null = make([]bool, len(list))
		for _, i := range plan.Holes {
			c.Null[i] = true
		}
	}
	return c, nil
}

// texts reads text, JSON or opaque values of rows that lie in many pieces: those of each chunk
// together. c is nil where single segments are as fast, and where a sample cannot be read.
func (r *reader) texts(ctx context.Context, f *field, typ array.Type, rows query.Rows) (c *array.Column, err error) {
	if start, step, regular := f.view.Regular(); regular && step == 1 && rows.List == nil {
		from := start + rows.From
		if scattered, err := f.column.Pieces().Scattered(ctx, from, from+rows.N); !scattered || err != nil {
			return nil, nil // the segments report the error
		}
	}
	plan, err := read.PlanItems(ctx, f.column, slices.Clone(r.listed.rows(f.view, rows)))
	if err != nil || plan == nil {
		return nil, ctx.Err()
	}
	r.worker(f)
	if f.remote() {
		defer prefetch(ctx, r.io.Worker, plan.Spans())()
	}
	data := make([]string, rows.N)
	for i := range plan.Runs {
		run := &plan.Runs[i]
		if run.Chunk.Index.DType() != f.column.DType() || run.Chunk.Index.Linked() {
			return nil, nil
		}
		for from := run.From; from < run.To; {
			to := read.Joined(plan, run, from)
			if err := r.textsOf(ctx, f, plan, run, from, to, data); err != nil {
				return nil, ctx.Err()
			}
			from = to
		}
	}
	c = &array.Column{Type: typ, N: int(rows.N), Same: tensor.Shape{}, Data: data}
	if len(plan.Holes) > 0 {
		c.Null = make([]bool, rows.N)
		for _, i := range plan.Holes {
			c.Null[i] = true
		}
	}
	return c, nil
}

// textsOf reads the values of places [from, to) of a plan with all items in between.
func (r *reader) textsOf(ctx context.Context, f *field, plan *chunk.GatherPlan, run *chunk.Run, from, to int, data []string) error {
	x, items := run.Chunk.Index, plan.Items[from:to]
	low, n := items[0], items[len(items)-1]-items[0]+1
	all := read.Values{Segment: &read.Segment{Chunk: run.Chunk, First: low, Rows: n}, Item: low, N: n}
	mem := make([]byte, all.Stored())
	if err := r.io.Read(ctx, &all, mem, f.column.Channels()); err != nil {
		return err
	}
	text := unsafe.String(unsafe.SliceData(mem), len(mem)) // mem is not written any more
	alone := mostlyGaps(int64(float64(len(mem))*float64(len(items))/float64(n)), int64(len(mem)))
	begin := x.Offset(low)
	for i, item := range items {
		value := text[x.Offset(item)-begin : x.Offset(item+1)-begin]
		if alone {
			value = strings.Clone(value)
		}
		r.decoded += int64(len(value))
		if plan.Positions == nil {
			data[from+i] = value
		} else {
			data[plan.Positions[from+i]] = value
		}
	}
	return nil
}
