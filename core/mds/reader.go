package mds

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

// Options choose samples and their columns.
type Options struct {
	Columns []string // nil: all
	From    int64    // samples that are passed over
	Most    int64    // bytes of a batch; 0: the default
	// LeaveOut is told of a sample that is left out, counted from 0; nil: it is an error.
	LeaveOut func(sample int64, err error) error
}

// Reader reads the samples of a shard. One goroutine at a time may use it.
type Reader struct {
	shard *shard
	o     Options
}

// NewReader reads the header of a shard, which is not compressed.
func NewReader(from io.Reader, o Options) (*Reader, error) {
	s, err := openShard(from)
	if err != nil {
		return nil, err
	}
	return &Reader{s, o}, nil
}

// Columns are the names of the columns.
func (r *Reader) Columns() []string { return r.shard.config.Names }

// Rows is the number of samples.
func (r *Reader) Rows() int64 { return int64(len(r.shard.offsets)) - 1 }

// Position is the number of the next sample.
func (r *Reader) Position() int64 { return r.shard.n }

// Batch is some samples.
type Batch struct {
	*arrow.Column         // a struct of the columns
	Samples       []int64 // the numbers of the samples
	Bytes         int64   // of the samples
}

// Next returns the next samples, nil behind the last one. Its memory stays valid.
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
	for len(out.Samples) < batchRows && out.Bytes < most {
		number := r.shard.n
		if number%1024 == 0 && ctx.Err() != nil {
			return nil, errs.Wrap(errs.Canceled, "read samples", "", ctx.Err())
		}
		if number < r.o.From {
			if ok, err := r.shard.skip(); err != nil || !ok {
				return nil, err
			}
			continue
		}
		values, ok, err := r.shard.next()
		if values == nil && err != nil && r.shard.n == number {
			return nil, err // the shard itself is cut
		}
		if !ok {
			break
		}
		if err == nil {
			err = r.add(columns, values)
		}
		if err != nil {
			err = errs.New(errs.KindOf(err), "sample %d %w", number, err)
			if r.o.LeaveOut == nil {
				return nil, err
			}
			if err := r.o.LeaveOut(number, err); err != nil {
				return nil, err
			}
			continue
		}
		out.Samples = append(out.Samples, number)
		for _, p := range values {
			out.Bytes += int64(len(p))
		}
	}
	if len(out.Samples) == 0 {
		return nil, nil
	}
	out.Column, err = gather.Struct(r.shard.config.Names, columns)
	return out, err
}

// columns returns new columns; nil for those that are not taken.
func (r *Reader) columns() ([]gather.Column, error) {
	c := &r.shard.config
	out := make([]gather.Column, len(c.Names))
	for i, name := range c.Names {
		if r.o.Columns != nil && !slices.Contains(r.o.Columns, name) {
			continue
		}
		var err error
		if out[i], err = newColumn(c.Encodings[i]); err != nil {
			return nil, errs.New(errs.KindOf(err), "column %q %w", name, err)
		}
	}
	return out, nil
}

// add takes a sample, or nothing of it.
func (r *Reader) add(columns []gather.Column, values [][]byte) error {
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
			return errs.New(errs.KindOf(err), "%w, in column %q", err, r.shard.config.Names[i])
		}
	}
	return nil
}
