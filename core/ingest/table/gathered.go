package table

import (
	"context"

	"deeplake/core/arrow"
	"deeplake/core/arrow/gather"
)

// rowReader reads the rows of a file that collectors gather: a shard or a chunk.
type rowReader interface {
	numbered
	Columns() []string
	Rows() int64
}

// gathered is a file whose rows are gathered one by one.
type gathered struct {
	names []string
	rows  int64
	// open opens the file, and returns a function that ends its requests.
	open func(ctx context.Context, o gather.Options, isAhead bool) (rowReader, func(), error)
}

// Columns are the names of the columns.
func (t *gathered) Columns() []string { return t.names }

// Rows is the number of rows.
func (t *gathered) Rows() int64 { return t.rows }

// Types returns columns without rows, as the first rows have them.
func (t *gathered) Types(ctx context.Context, columns []string) (*arrow.Column, error) {
	leaveOut := func(int64, error) error { return nil }
	r, end, err := t.open(ctx, gather.Options{Columns: columns, Most: leastSampled, LeaveOut: leaveOut}, false)
	if err != nil {
		return nil, err
	}
	defer end()
	b, err := r.Next(ctx)
	if err != nil {
		return nil, err
	}
	if b == nil {
		return arrow.MakeColumn(&arrow.Type{Format: "+s"}, &arrow.Data{})
	}
	return b.Column.Slice(0, 0), nil
}

// Read begins to read rows.
func (t *gathered) Read(ctx context.Context, o ReadOptions) (Batches, error) {
	r, end, err := t.open(ctx, gather.Options{Columns: o.Columns, From: o.From, LeaveOut: o.LeaveOut, Places: o.Places}, o.Ahead)
	if err != nil {
		return nil, err
	}
	return &numberedRows{r, end}, nil
}
