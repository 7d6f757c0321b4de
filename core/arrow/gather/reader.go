package gather

import (
	"context"
	"slices"

	"deeplake/core/arrow"
	"deeplake/core/errs"
)

const (
	// batchRows and batchBytes bound a batch.
	batchRows  = 1 << 16
	batchBytes = 16 << 20
	checkRows  = 1024 // that are read between two looks at the context
)

// Options choose rows and their values.
type Options struct {
	Columns []string // nil: all
	From    int64    // rows that are passed over
	Most    int64    // bytes of a batch; 0: the default
	Places  bool     // image files come with their positions in the file
	// LeaveOut is told of a row that is left out, counted from 0; nil: it is an error.
	LeaveOut func(row int64, err error) error
}

// Row is the values of a row, by column.
type Row struct {
	Values [][]byte
	// At is the position in the file of the first value, which the others follow; -1: the file has
	// them in another form.
	At    int64
	Each  []int64 // positions of the values, in the place of At; nil: they follow each other
	Bytes int64   // of the row
}

// Source gives the rows of a file in order.
type Source interface {
	// Columns are the names of the values of a row.
	Columns() []string
	// NewColumn makes the collector of a column, by its number.
	NewColumn(i int) (Column, error)
	// Position is the number of the next row.
	Position() int64
	// Skip passes over some rows, at most those before the row from. ok is false behind the last
	// one.
	Skip(from int64) (ok bool, err error)
	// Next returns the next row. With ok, an error is about this row alone. Without, it is about
	// the file; nil: there are no more rows.
	Next() (row Row, ok bool, err error)
	// Words are how messages call a row and a column, such as "sample" and "column".
	Words() (row, column string)
}

// Reader collects the rows of a source in batches. One goroutine at a time may use it.
type Reader struct {
	Source
	o Options
}

// NewReader makes a reader of the rows that options choose.
func NewReader(s Source, o Options) *Reader { return &Reader{s, o} }

// Next returns the next rows, nil behind the last one. Its memory stays valid.
func (r *Reader) Next(ctx context.Context) (*arrow.Batch, error) {
	columns, err := r.columns()
	if err != nil {
		return nil, err
	}
	row, _ := r.Words()
	canceled := func() error {
		if ctx.Err() == nil {
			return nil
		}
		return errs.Wrap(errs.Canceled, "read "+row+"s", "", ctx.Err())
	}
	most := r.o.Most
	if most == 0 {
		most = batchBytes
	}
	for r.Position() < r.o.From {
		if err := canceled(); err != nil {
			return nil, err
		}
		if ok, err := r.Skip(r.o.From); err != nil || !ok {
			return nil, err
		}
	}
	out := &arrow.Batch{}
	for len(out.Rows) < batchRows && out.Bytes < most {
		number := r.Position()
		if number%checkRows == 0 {
			if err := canceled(); err != nil {
				return nil, err
			}
		}
		one, ok, err := r.Source.Next()
		if !ok {
			if err != nil {
				return nil, err
			}
			break
		}
		if err == nil {
			err = r.add(columns, one)
		}
		if err != nil {
			err = errs.New(errs.KindOf(err), "%s %d %w", row, number, err)
			if r.o.LeaveOut == nil {
				return nil, err
			}
			if err := r.o.LeaveOut(number, err); err != nil {
				return nil, err
			}
			continue
		}
		out.Rows = append(out.Rows, number)
		out.Bytes += one.Bytes
	}
	if len(out.Rows) == 0 {
		return nil, nil
	}
	out.Column, err = Struct(r.Columns(), columns)
	return out, err
}

// columns returns new collectors; nil for columns that are not taken.
func (r *Reader) columns() ([]Column, error) {
	names := r.Columns()
	out := make([]Column, len(names))
	for i, name := range names {
		if r.o.Columns != nil && !slices.Contains(r.o.Columns, name) {
			continue
		}
		var err error
		if out[i], err = r.NewColumn(i); err != nil {
			_, column := r.Words()
			return nil, errs.New(errs.KindOf(err), "%s %q %w", column, name, err)
		}
	}
	return out, nil
}

// add takes a row, or nothing of it.
func (r *Reader) add(columns []Column, row Row) error {
	next := row.At
	for i, c := range columns {
		at := int64(-1)
		switch {
		case r.o.Places && row.Each != nil:
			at = row.Each[i]
		case r.o.Places && row.At >= 0:
			at = next
		}
		next += int64(len(row.Values[i]))
		if c == nil {
			continue
		}
		if err := c.Add(row.Values[i], at); err != nil {
			for k := range i {
				if columns[k] != nil {
					columns[k].Drop()
				}
			}
			_, column := r.Words()
			return errs.New(errs.KindOf(err), "%w, in %s %q", err, column, r.Columns()[i])
		}
	}
	return nil
}
