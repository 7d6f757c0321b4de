package loader

import (
	"context"
	"slices"
	"sync"

	"deeplake/core/chunk"
	"deeplake/core/internal/task"
	"deeplake/core/tensor"
)

// GatherColumn is implemented by a Column that reads many small samples of one shape in bulk.
type GatherColumn interface {
	// GatherPlan resolves rows all at once. It returns nil if their samples differ in shape, or if
	// there are none.
	GatherPlan(ctx context.Context, rows []int64) (*chunk.GatherPlan, error)
}

const (
	bulkRows   = 64      // fewer are read one by one: what is done once for all would cost more
	bulkSample = 8 << 10 // bytes of a sample, at most: larger ones take longer to copy than to find

	// What a job of a bulk read costs, about, in nanoseconds: a sample, a block, and the whole.
	bulkItemCost  = 4
	bulkBlockCost = 20_000
	bulkJobCost   = 200_000
)

// bulk is a read of many samples of one shape in each tensor: what Read does for any samples,
// without a Ref for each.
type bulk struct {
	reader *Reader
	rows   []int64
	fields []field
	plan   []*chunk.GatherPlan // of each field
	at     []int               // its column in the batch
	jobs   []bulkJob
	batch  *Batch

	mu   sync.Mutex
	bad  int // the first place whose sample could not be read
	of   int // and its field
	fail error
}

// bulkJob is samples [from, to) of a field, the first of which is in the given lot.
type bulkJob struct{ field, run, from, to int }

// bulk reads rows if that can be done in bulk; else the batch is nil, and what is wrong with the
// rows, if anything is, is found when they are read one by one. mark is ReadOptions.MarkHoles.
func (r *Reader) bulk(ctx context.Context, fields []field, rows []int64, o *Options, mark bool) (*Batch, error) {
	if len(rows) < bulkRows || o.ReturnIndex {
		return nil, nil
	}
	for i := range fields {
		if !fields[i].even() {
			return nil, nil
		}
	}
	b := &bulk{reader: r, rows: rows, fields: fields, batch: &Batch{Rows: len(rows)}}
	var l layout
	for i := range fields {
		f := &fields[i]
		plan, err := f.col.(GatherColumn).GatherPlan(ctx, rows)
		if err != nil || plan == nil || plan.Size > bulkSample || len(plan.Holes) > 0 && !mark || f.collate == Pad && len(plan.Shape) > 0 {
			return nil, nil
		}
		if n, err := plan.Shape.Bytes(f.dtype); err != nil || n != plan.Size {
			return nil, nil
		}
		c := BatchColumn{Name: f.name, DType: f.dtype, Kind: KindArray, Count: len(rows), Size: int64(len(rows)) * plan.Size,
			Shape: append(tensor.Shape{int64(len(rows))}, plan.Shape...)}
		if c.Offset, err = l.array(len(rows), plan.Size); err != nil {
			return nil, err
		}
		b.plan, b.at = append(b.plan, plan), append(b.at, len(b.batch.Columns))
		b.batch.Columns = append(b.batch.Columns, c)
		if len(plan.Holes) > 0 {
			null := BatchColumn{Name: f.name + NullSuffix, DType: tensor.Bool, Kind: KindArray, Count: len(rows), Size: int64(len(rows)), Shape: tensor.Shape{int64(len(rows))}}
			if null.Offset, err = l.array(len(rows), 1); err != nil {
				return nil, err
			}
			b.batch.Columns = append(b.batch.Columns, null)
		}
	}
	var err error
	if b.batch.Slab, err = r.ring.Get(l.used); err != nil {
		return nil, err
	}
	if err := b.read(ctx, min(o.Workers, task.Cores())); err != nil {
		b.batch.Release()
		return nil, err
	}
	return b.batch, nil
}

// even reports whether samples of the field may be read in bulk: into one array, as they are
// stored.
func (f *field) even() bool {
	_, ok := f.col.(GatherColumn)
	return ok && f.collate != List && !f.stored && !f.text && !f.seq && !f.encoded && f.augment == nil && f.dtype.Fixed()
}

// read fills the arrays on up to threads goroutines.
func (b *bulk) read(ctx context.Context, threads int) error {
	b.mark()
	b.cut()
	err := b.reader.do(ctx, len(b.jobs), threads, b.spans, b.run)
	if err == nil && b.fail != nil {
		name, row := b.fields[b.of].name, b.rows[b.bad]
		var ref [1]chunk.Ref
		if b.fields[b.of].col.Resolve(ctx, b.rows[b.bad:b.bad+1], ref[:]) == nil {
			row = ref[0].Row
		}
		err = rowError(name, row, b.fail)
	}
	return err
}

// mark makes zeros of holes, and says where they are.
func (b *bulk) mark() {
	for i, l := range b.plan {
		if len(l.Holes) == 0 {
			continue
		}
		data, null := b.batch.Data(&b.batch.Columns[b.at[i]]), b.batch.Data(&b.batch.Columns[b.at[i]+1])
		clear(null)
		for _, p := range l.Holes {
			null[p] = 1
			clear(data[int64(p)*l.Size : (int64(p)+1)*l.Size])
		}
	}
}

// cut makes jobs of whole blocks.
func (b *bulk) cut() {
	for i, l := range b.plan {
		j, cost := bulkJob{field: i}, int64(0)
		for k := range l.Runs {
			lot := &l.Runs[k]
			for at := lot.From; at < lot.To; {
				end := lot.Chunk.BlockEnd(l.Items, at, lot.To)
				if cost == 0 {
					j.run, j.from = k, at
				}
				cost += bulkBlockCost + int64(end-at)*(bulkItemCost+l.Size/8)
				if at = end; cost >= bulkJobCost || at == len(l.Items) {
					j.to, cost = at, 0
					b.jobs = append(b.jobs, j)
				}
			}
		}
	}
}

// spans appends what a job needs: its blocks one by one, as a job of single samples would.
func (b *bulk) spans(k int, out []chunk.Span) []chunk.Span {
	b.jobs[k].eachRun(b.plan[b.jobs[k].field], func(l *chunk.GatherPlan, lot *chunk.Run, from, to int) {
		for at := from; at < to; at = lot.Chunk.BlockEnd(l.Items, at, to) {
			out = lot.Chunk.Spans(l.Items[at], 1, out)
		}
	})
	return out
}

// eachRun calls fn for what of the job is in each lot.
func (j *bulkJob) eachRun(l *chunk.GatherPlan, fn func(l *chunk.GatherPlan, lot *chunk.Run, from, to int)) {
	for k, from := j.run, j.from; from < j.to; k++ {
		to := min(l.Runs[k].To, j.to)
		fn(l, &l.Runs[k], from, to)
		from = to
	}
}

// run does one job.
func (b *bulk) run(ctx context.Context, k int, w *chunk.Worker) error {
	j := &b.jobs[k]
	dst := b.batch.Data(&b.batch.Columns[b.at[j.field]])
	j.eachRun(b.plan[j.field], func(l *chunk.GatherPlan, lot *chunk.Run, from, to int) {
		w.Gather(ctx, l, lot, from, to, dst, func(from, to int, err error) { b.failed(j.field, from, to, err) })
	})
	return nil
}

// failed notes that samples of a field could not be read, if one of them comes before those that
// are noted.
func (b *bulk) failed(field, from, to int, err error) {
	first := from
	if places := b.plan[field].Positions; places != nil {
		first = int(slices.Min(places[from:to]))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail == nil || first < b.bad || first == b.bad && b.fields[field].name < b.fields[b.of].name {
		b.bad, b.of, b.fail = first, field, err
	}
}
