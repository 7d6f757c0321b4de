package loader

import (
	"context"

	"deeplake/core/chunk"
	"deeplake/core/internal/task"
	"deeplake/core/read"
	"deeplake/core/tensor"
)

const (
	bulkRows   = 64      // fewer rows are read one by one: the set-up would cost more
	bulkSample = 8 << 10 // bytes of a sample, at most: larger ones take longer to copy than to find
)

// bulk reads many samples of one shape in each tensor, without a Ref for each. The batch is nil if
// rows cannot be read so. Any damage is found when they are read one by one. mark is
// ReadOptions.MarkHoles.
func (r *Reader) bulk(ctx context.Context, fields []field, rows []int64, o *Options, mark bool) (*Batch, error) {
	if len(rows) < bulkRows || o.ReturnIndex {
		return nil, nil
	}
	for i := range fields {
		if !fields[i].even() {
			return nil, nil
		}
	}
	batch, plans, columns := &Batch{Rows: len(rows)}, make([]*chunk.GatherPlan, len(fields)), make([]int, len(fields))
	var l layout
	for i := range fields {
		f := &fields[i]
		plan, err := f.access.GatherPlan(ctx, rows)
		if err != nil || plan == nil || plan.Size > bulkSample || len(plan.Holes) > 0 && !mark || f.collate == Pad && len(plan.Shape) > 0 {
			return nil, nil
		}
		if n, err := plan.Shape.Bytes(f.dtype); err != nil || n != plan.Size {
			return nil, nil
		}
		plans[i], columns[i] = plan, len(batch.Columns)
		if err := l.bulk(batch, f, plan); err != nil {
			return nil, err
		}
	}
	var err error
	if batch.Slab, err = r.ring.Get(l.used); err != nil {
		return nil, err
	}
	b := &read.Bulk{}
	for i, plan := range plans {
		at := columns[i]
		b.Add(fields[i].name, plan, batch.Data(&batch.Columns[at]))
		if len(plan.Holes) > 0 {
			null := batch.Data(&batch.Columns[at+1])
			clear(null)
			for _, p := range plan.Holes {
				null[p] = 1
			}
		}
	}
	err = r.do(ctx, b.Jobs(), min(o.Workers, task.Cores()), b.Spans, b.Run)
	if failed := b.Failure(); err == nil && failed.Err != nil {
		f, row := &fields[failed.Tensor], rows[failed.Position]
		var ref [1]chunk.Ref
		if f.col.Resolve(ctx, rows[failed.Position:failed.Position+1], ref[:]) == nil {
			row = ref[0].Row
		}
		err = rowError(f.name, row, failed.Err)
	}
	if err != nil {
		batch.Release()
		return nil, err
	}
	return batch, nil
}

// bulk lays out the samples of a plan, and the column of holes if there are any.
func (l *layout) bulk(b *Batch, f *field, plan *chunk.GatherPlan) (err error) {
	rows := int64(b.Rows)
	c := BatchColumn{Name: f.name, DType: f.dtype, Kind: KindArray, Count: b.Rows, Size: rows * plan.Size, Shape: append(tensor.Shape{rows}, plan.Shape...)}
	if c.Offset, err = l.array(b.Rows, plan.Size); err != nil {
		return err
	}
	b.Columns = append(b.Columns, c)
	if len(plan.Holes) == 0 {
		return nil
	}
	null := BatchColumn{Name: f.name + NullSuffix, DType: tensor.Bool, Kind: KindArray, Count: b.Rows, Size: rows, Shape: tensor.Shape{rows}}
	if null.Offset, err = l.array(b.Rows, 1); err != nil {
		return err
	}
	b.Columns = append(b.Columns, null)
	return nil
}

// even reports whether samples of the field may be read in bulk: into one array, in stored form.
func (f *field) even() bool {
	return f.access.GatherPlan != nil && f.collate != List && !f.stored && !f.text && !f.seq && !f.encoded && f.augment == nil && f.dtype.Fixed()
}
