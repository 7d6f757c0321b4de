package scan

import (
	"context"

	"deeplake/core/array"
	"deeplake/core/chunk"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/read"
	"deeplake/core/tensor"
)

// stored is a tensor under another name.
type stored struct {
	*dataset.Column
	name string
}

// Name returns the name of the tensor in the result.
func (c stored) Name() string { return c.name }

// computedColumn is a column that is computed when it is read. It computes rows where other columns
// look them up, because sizes must be known then. The refs keep the rows.
type computedColumn struct {
	field *field
	rows  int64
}

func (c *computedColumn) Name() string        { return c.field.name }
func (c *computedColumn) DType() tensor.DType { return c.field.typ.DType }
func (c *computedColumn) Sequence() bool      { return c.field.typ.List }
func (c *computedColumn) Encoded() bool       { return false }

// Access returns the meaning that a tensor with these samples would have. There are no abilities.
func (c *computedColumn) Access() read.Access {
	return read.Access{HType: htypeOf(&c.field.typ), Time: timeOf(c.field.typ.Unit), Info: infoOf(&c.field.typ)}
}

// rowsPerTurn is the number of rows that are computed at once by one goroutine, at least.
const rowsPerTurn = 8

// Resolve computes rows.
func (c *computedColumn) Resolve(ctx context.Context, rows []int64, refs []chunk.Ref) error {
	for _, row := range rows {
		if row < 0 || row >= c.rows {
			return errs.New(errs.Range, "row %d is out of range, there are %d rows", row, c.rows)
		}
	}
	groups := max(1, min(task.Cores(), len(rows)/rowsPerTurn))
	if groups == 1 {
		return c.compute(ctx, rows, refs)
	}
	g := task.New(ctx, 0)
	for i := range groups {
		from, to := i*len(rows)/groups, (i+1)*len(rows)/groups
		g.Go(func(ctx context.Context) error { return c.compute(ctx, rows[from:to], refs[from:to]) })
	}
	return g.Wait()
}

func (c *computedColumn) compute(ctx context.Context, rows []int64, refs []chunk.Ref) error {
	if len(rows) == 0 {
		return nil
	}
	values, err := c.field.compute(ctx, rows)
	if err != nil {
		return err
	}
	if values.N != len(rows) || values.DType != c.field.typ.DType && values.DType != 0 {
		return errs.Op("compute column", c.field.name).New(errs.Internal, "got %d values of dtype %s, want %d of %s", values.N, values.DType, len(rows), c.field.typ.DType)
	}
	values = values.Expand()
	for i, row := range rows {
		refs[i] = chunk.Ref{Row: row}
		if values.IsNull(i) {
			continue
		}
		if r := &refs[i]; values.List {
			list(values, i, r)
		} else {
			hold(values, i, r)
		}
	}
	return nil
}

// hold makes r the sample of row i.
func hold(values *array.Column, i int, r *chunk.Ref) {
	r.Items, r.Computed = 1, valueBytes(values, i)
	r.Size = int64(len(r.Computed))
	if r.Stored = r.Size; values.DType.Fixed() {
		r.Shape = values.ShapeAt(i)
	}
}

// list makes r the list of row i. Items finds its items.
func list(values *array.Column, i int, r *chunk.Ref) {
	r.Computed = []byte{}
	for at := start(values, i); at < values.Ends[i]; at++ {
		var item chunk.Ref
		hold(values.Items, at, &item)
		r.Items, r.Size, r.Stored = r.Items+1, r.Size+item.Size, r.Stored+item.Stored
	}
}

// Items computes the row of ref again, and splits it.
func (c *computedColumn) Items(ctx context.Context, ref *chunk.Ref, items []chunk.Ref) error {
	values, err := c.field.compute(ctx, []int64{ref.Row})
	if err != nil {
		return err
	}
	values = values.Expand()
	if !values.List || len(values.Ends) != 1 || values.Ends[0] != len(items) {
		return errs.Op("compute column", c.field.name).New(errs.Internal, "row %d has another length than before", ref.Row)
	}
	for k := range items {
		items[k] = chunk.Ref{Row: ref.Row}
		hold(values.Items, k, &items[k])
	}
	return nil
}

// Decode copies the value that Resolve computed.
func (c *computedColumn) Decode(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error {
	return w.Decode(ctx, ref, dst, 0)
}

// Stored returns the same.
func (c *computedColumn) Stored(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error {
	return w.Stored(ctx, ref, dst)
}
