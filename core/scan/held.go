package scan

import (
	"context"

	"deeplake/core/array"
	"deeplake/core/dataset"
	"deeplake/core/query"
)

// holdComputed makes fields of some outputs of r, by their numbers in outputs. Their values stay
// the columns that the query has computed.
//
// Such columns need no writer of chunks, which programs that only read leave out. cacheComputed
// makes columns that a loader reads faster.
func holdComputed(_ context.Context, _ *dataset.Env, r *query.Result, outputs []int, fields []*field) error {
	for _, i := range outputs {
		o := &r.Outputs[i]
		fields[i].typ = o.Type
		fields[i].compute = func(ctx context.Context, rows []int64) (*array.Column, error) {
			if o.Values == nil {
				c, err := o.Compute(ctx, rows)
				if err != nil {
					return nil, err
				}
				return likeStored(c), nil
			}
			at := make([]int, len(rows))
			for k, row := range rows {
				at[k] = int(row)
			}
			return likeStored(o.Values.Take(at)), nil
		}
	}
	return nil
}

// likeStored returns c as a dataset would store it: without the NULL items of lists.
func likeStored(c *array.Column) *array.Column {
	c = c.Expand()
	if !c.List {
		return c
	}
	out := &array.Column{Type: c.Type, N: c.N, Null: c.Null, Ends: make([]int, c.N)}
	if c.DType == 0 || c.Items == nil {
		return out
	}
	items := c.Items.Expand()
	var kept []int
	for i := range c.N {
		if !c.IsNull(i) {
			for at := start(c, i); at < c.Ends[i]; at++ {
				if !items.IsNull(at) {
					kept = append(kept, at)
				}
			}
		}
		out.Ends[i] = len(kept)
	}
	out.Items = items.Take(kept)
	return out
}
