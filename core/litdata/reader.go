package litdata

import (
	"context"
	"io"
	"slices"

	"deeplake/core/arrow"
	"deeplake/core/arrow/gather"
	"deeplake/core/errs"
)

const (
	// batchRows and batchBytes bound a batch.
	batchRows  = 1 << 16
	batchBytes = 16 << 20
)

// Options choose items and their values.
type Options struct {
	Columns []string // nil: all
	From    int64    // items that are passed over
	Most    int64    // bytes of a batch; 0: the default
	// LeaveOut is told of an item that is left out, counted from 0; nil: it is an error.
	LeaveOut func(item int64, err error) error
}

// Reader reads the items of a chunk. One goroutine at a time may use it.
type Reader struct {
	chunk *chunk
	index *Index
	o     Options
}

// NewReader reads what precedes the items of a chunk of the index, which may be compressed.
func NewReader(from io.Reader, index *Index, o Options) (*Reader, error) {
	c, err := openChunk(from, index)
	if err != nil {
		c.close()
		return nil, err
	}
	return &Reader{c, index, o}, nil
}

// Close ends the use of the reader.
func (r *Reader) Close() { r.chunk.close() }

// Columns are the names of the values of an item.
func (x *Index) Columns() (names []string) {
	for _, leaf := range x.Leaves {
		names = append(names, leaf.Name)
	}
	return names
}

// Rows is the number of items.
func (r *Reader) Rows() int64 { return int64(len(r.chunk.offsets)) - 1 }

// Position is the number of the next item.
func (r *Reader) Position() int64 { return r.chunk.n }

// Batch is some items.
type Batch struct {
	*arrow.Column         // a struct of the values
	Items         []int64 // the numbers of the items
	Bytes         int64   // of the items
}

// Next returns the next items, nil behind the last one. Its memory stays valid.
func (r *Reader) Next(ctx context.Context) (*Batch, error) {
	columns, err := r.columns()
	if err != nil {
		return nil, err
	}
	out := &Batch{}
	most := r.o.Most
	if most == 0 {
		most = batchBytes
	}
	for r.chunk.n < r.o.From {
		if ctx.Err() != nil {
			return nil, errs.Wrap(errs.Canceled, "read items", "", ctx.Err())
		}
		if ok, err := r.chunk.skip(r.o.From); err != nil || !ok {
			return nil, err
		}
	}
	for len(out.Items) < batchRows && out.Bytes < most {
		number := r.chunk.n
		if number%1024 == 0 && ctx.Err() != nil {
			return nil, errs.Wrap(errs.Canceled, "read items", "", ctx.Err())
		}
		p, ok, err := r.chunk.next()
		if err != nil && !ok {
			return nil, err // the chunk itself is cut
		}
		if !ok {
			break
		}
		if err == nil {
			err = r.add(columns, p)
		}
		if err != nil {
			err = errs.New(errs.KindOf(err), "item %d %w", number, err)
			if r.o.LeaveOut == nil {
				return nil, err
			}
			if err := r.o.LeaveOut(number, err); err != nil {
				return nil, err
			}
			continue
		}
		out.Items = append(out.Items, number)
		out.Bytes += int64(len(p))
	}
	if len(out.Items) == 0 {
		return nil, nil
	}
	out.Column, err = gather.Struct(r.index.Columns(), columns)
	return out, err
}

// columns returns new columns; nil for those that are not taken.
func (r *Reader) columns() ([]gather.Column, error) {
	out := make([]gather.Column, len(r.index.Leaves))
	for i, leaf := range r.index.Leaves {
		if r.o.Columns != nil && !slices.Contains(r.o.Columns, leaf.Name) {
			continue
		}
		var err error
		if out[i], err = newColumn(leaf.Encoding); err != nil {
			return nil, errs.New(errs.KindOf(err), "the value %q %w", leaf.Name, err)
		}
	}
	return out, nil
}

// add takes an item, or nothing of it.
func (r *Reader) add(columns []gather.Column, p []byte) error {
	values, err := r.index.divide(p)
	if err != nil {
		return err
	}
	for i, c := range columns {
		if c == nil {
			continue
		}
		if err := c.Add(values[i]); err != nil {
			for k := range i {
				if columns[k] != nil {
					columns[k].Drop()
				}
			}
			return errs.New(errs.KindOf(err), "%w, in the value %q", err, r.index.Leaves[i].Name)
		}
	}
	return nil
}
