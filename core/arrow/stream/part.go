package stream

import (
	"context"

	"deeplake/core/array"
	"deeplake/core/arrow"
	"deeplake/core/internal/task"
	"deeplake/core/scan"
	"deeplake/core/tensor"
)

// part is the rows of one batch.
type part struct {
	*memory
	s       *Stream
	readers []*scan.Owned // one for each column
	from, n int64
}

// columns makes the arrays of all columns. It may cut n.
func (p *part) columns(ctx context.Context) ([]*arrow.Data, error) {
	borrowed, err := p.cut(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]*arrow.Data, len(borrowed))
	group := task.New(ctx, max(2, task.Cores()))
	for i, c := range p.s.columns {
		if borrowed[i] == nil {
			group.Go(func(ctx context.Context) (err error) {
				if c.form == formFiles {
					out[i], err = p.files(ctx, i)
				} else {
					out[i], err = p.read(ctx, i)
				}
				return err
			})
		}
	}
	for i, values := range borrowed {
		if values != nil && err == nil {
			out[i], err = p.s.convert(p.memory, i, values, true)
		}
	}
	if failed := group.Wait(); failed != nil {
		err = failed
	}
	return out, err
}

// cut finds the columns whose rows lie in memory, and cuts the rows so that they lie together.
func (p *part) cut(ctx context.Context) ([]*array.Column, error) {
	borrowed := make([]*array.Column, len(p.s.columns))
	cut := p.n
	for i, c := range p.s.columns {
		if c.form != formNumbers || c.list || c.labels != nil || c.time.Kind == tensor.Date || c.axes > 0 && c.fixed == nil {
			continue
		}
		values, keep, err := p.readers[i].Borrow(ctx, c.index, p.from, p.n)
		if err != nil {
			return nil, err
		}
		if values == nil || int64(values.N) < p.n && values.N < leastBorrowed {
			continue
		}
		borrowed[i] = values
		p.hold(keep)
		cut = min(cut, int64(values.N))
	}
	p.n = cut
	for i, c := range borrowed {
		if c != nil && int64(c.N) > cut {
			borrowed[i] = c.Slice(0, int(cut))
		}
	}
	return borrowed, nil
}

// read makes a column, which it copies.
func (p *part) read(ctx context.Context, i int) (*arrow.Data, error) {
	values, slab, err := p.readers[i].Read(ctx, p.s.columns[i].index, p.from, p.n)
	if err != nil {
		return nil, err
	}
	if slab != nil {
		p.own(slab)
	}
	return p.s.convert(p.memory, i, values.Expand(), slab != nil)
}

// files makes a column of files.
func (p *part) files(ctx context.Context, i int) (*arrow.Data, error) {
	rows, sizes := make([]int64, p.n), make([]int64, p.n)
	for k := range rows {
		rows[k] = p.from + int64(k)
	}
	stored := p.s.stored[i]
	if err := stored.Sizes(ctx, rows, sizes); err != nil {
		return nil, err
	}
	out := &arrow.Data{Rows: p.n}
	var err error
	if out.Ends, err = p.offsets(p.n, func(k int64) int64 { return max(0, sizes[k]) }); err != nil {
		return nil, err
	}
	if out.Valid, err = p.valid(p.n, func(k int64) bool { return sizes[k] < 0 }); err != nil {
		return nil, err
	}
	if out.Values, err = p.bytes(out.Ends[p.n]); err != nil {
		return nil, err
	}
	places := make([][]byte, p.n)
	for k := range places {
		places[k] = out.Values[out.Ends[k]:out.Ends[k+1]:out.Ends[k+1]]
	}
	return out, stored.Read(ctx, rows, places)
}
