package loader

import (
	"context"
	"math"
	"slices"
	"sync/atomic"

	"deeplake/core/chunk"
	"deeplake/core/internal/task"
	"deeplake/core/read"
	"deeplake/core/tensor"
)

const (
	bulkRows   = 64      // fewer rows are read one by one: the set-up would cost more
	bulkSample = 8 << 10 // bytes of a sample, at most: larger ones take longer to copy than to find
	// The same for later epochs, if their bytes stay in the page cache. Copying mapped pages is
	// faster than reading them: 73,000 images of 190 kB a second in place of 50,000. Mapping them
	// first takes as long as reading them.
	bulkCached = 1 << 20
)

// bulk reads many samples of one shape in each tensor, without a Ref for each. The batch is nil if
// rows cannot be read so. Any damage is found when they are read one by one. mark is
// ReadOptions.MarkHoles.
func (r *Reader) bulk(ctx context.Context, fields []field, rows []int64, o *Options, mark bool) (*Batch, error) {
	if len(rows) < bulkRows || o.ReturnIndex || isMix(r.src) {
		return nil, nil
	}
	for i := range fields {
		if !fields[i].even() {
			return nil, nil
		}
	}
	if b, err := r.ranges(ctx, fields, rows, o); b != nil || err != nil {
		return b, err
	}
	batch, plans, columns := &Batch{Rows: len(rows)}, make([]*chunk.GatherPlan, len(fields)), make([]int, len(fields))
	var l layout
	for i := range fields {
		f := &fields[i]
		plan := f.gather(ctx, rows, bulkSample, mark)
		if plan == nil {
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
	b.Cut(math.MaxInt)
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

// rangeRows is the number of consecutive rows from which a job of them pays.
const rangeRows = 8 << 10

// ranges reads consecutive rows, without a plan of each. The batch is nil if rows cannot be read
// so.
func (r *Reader) ranges(ctx context.Context, fields []field, rows []int64, o *Options) (*Batch, error) {
	n := int64(len(rows))
	if n < rangeRows || r.src.Remote() || rows[n-1]-rows[0] != n-1 {
		return nil, nil
	}
	for i, row := range rows {
		if row != rows[0]+int64(i) {
			return nil, nil
		}
	}
	batch := &Batch{Rows: len(rows)}
	var l layout
	shapes := make([]tensor.Shape, len(fields))
	for i := range fields {
		f := &fields[i]
		if f.access.CopyRange == nil {
			return nil, nil
		}
		one := f.gather(ctx, []int64{rows[0]}, bulkSample, false)
		if one == nil {
			return nil, nil
		}
		shapes[i] = one.Shape
		if err := l.bulk(batch, f, one); err != nil {
			return nil, err
		}
	}
	var err error
	if batch.Slab, err = r.ring.Get(l.used); err != nil {
		return nil, err
	}
	parts := (n + rangeRows - 1) / rangeRows
	var other atomic.Bool // the rows must be read in another way
	err = r.do(ctx, int(parts)*len(fields), min(o.Workers, task.Cores()), nil, func(ctx context.Context, k int, w *chunk.Worker) error {
		i, part := k/int(parts), int64(k)%parts
		from, to := part*n/parts, (part+1)*n/parts
		size := batch.Columns[i].Size / n
		dst := batch.Data(&batch.Columns[i])[from*size : to*size]
		ok, err := false, error(nil)
		if !other.Load() {
			ok, err = fields[i].access.CopyRange(ctx, rows[0]+from, rows[0]+to, shapes[i], dst, w)
		}
		if !ok || err != nil {
			other.Store(true)
		}
		return nil
	})
	if err != nil || other.Load() {
		batch.Release()
		return nil, err
	}
	return batch, nil
}

// gather plans a bulk read of one tensor. It returns nil if rows cannot be read so, or if a sample
// has more than limit bytes. mark is ReadOptions.MarkHoles.
func (f *field) gather(ctx context.Context, rows []int64, limit int64, mark bool) *chunk.GatherPlan {
	plan, err := f.access.GatherPlan(ctx, rows)
	if err != nil || plan == nil || plan.Size > limit || len(plan.Holes) > 0 && !mark || f.collate == Pad && len(plan.Shape)+len(f.padding.Length) > 0 {
		return nil
	}
	if n, err := plan.Shape.Bytes(f.dtype); err != nil || n != plan.Size {
		return nil
	}
	return plan
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

// bulkMisses is the number of batches in a row that cannot be read in bulk, after which an epoch
// no longer tries.
const bulkMisses = 8

// bulkChance remembers, for the planner of an epoch, whether bulk reads are worth a try.
type bulkChance struct {
	limit  int64 // of the bytes of a sample
	misses int
}

// bulkChance returns nil if batches of e are never read in bulk. Over a network, bytes are
// prefetched sample by sample. A device and Skip want single samples.
func (e *Epoch) bulkChance(ctx context.Context) *bulkChance {
	l := e.loader
	if l.src.Remote() || l.stager != nil || l.options.OnError == Skip {
		return nil
	}
	for i := range l.fields {
		if !l.fields[i].even() {
			return nil
		}
	}
	c := &bulkChance{limit: bulkSample}
	if e.again && l.staysCached(ctx) {
		c.limit = bulkCached
	}
	return c
}

// staysCached reports whether the page cache has room for all rows, twice. Pages of a larger set
// are dropped behind the pass, which mapped ones would hinder.
func (l *Loader) staysCached(ctx context.Context) bool {
	var largest read.Access
	total := int64(0)
	for i := range l.fields {
		a := l.fields[i].access
		if total += a.StoredBytes; a.StoredBytes >= largest.StoredBytes {
			largest = a
		}
	}
	if largest.Prefetch == nil {
		return false
	}
	spans, _ := largest.Prefetch(ctx, [][2]int64{{0, bulkRows}}) // batches meet the error
	for _, s := range spans {
		if cache := s.PageCache(); cache != nil {
			return total <= cache.CacheBytes()/2
		}
	}
	return false
}

// locate finds the rows p.view for a bulk read, unless it did so before. It reports false where
// samples must be found one by one.
func (pl *planner) locate(ctx context.Context, p *plan) bool {
	if pl.bulk == nil {
		return false
	}
	if !p.tried {
		p.tried, p.even = true, pl.bulk.misses < bulkMisses && len(p.view) >= bulkRows && pl.locateAll(ctx, p)
	}
	return p.even
}

// locateAll finds the rows in every tensor.
func (pl *planner) locateAll(ctx context.Context, p *plan) bool {
	pl.bulk.misses++
	p.sort(ctx)
	ordered := slices.IsSorted(p.order)
	p.plans = p.plans[:0]
	for i := range pl.fields {
		plan := pl.fields[i].gather(ctx, p.sorted, pl.bulk.limit, false)
		if plan == nil {
			return false
		}
		if !ordered {
			p.restore(plan)
		}
		p.plans = append(p.plans, plan)
	}
	if pl.index && !p.number(ctx, &pl.fields[0], pl.source) {
		return false
	}
	pl.bulk.misses = 0
	return true
}

// gather makes w a bulk read of located rows. It reports false where that cannot be; w is then
// unchanged.
func (pl *planner) gather(w *work, p *plan) bool {
	b := &Batch{Index: w.seq, Rows: len(p.view)}
	var l layout
	for i, plan := range p.plans {
		if l.bulk(b, &pl.fields[i], plan) != nil {
			return false
		}
	}
	tensors := len(b.Columns)
	if l.marks(pl, p, b) != nil {
		return false
	}
	var err error
	if b.Slab, err = pl.slab(l.used); err != nil {
		return false
	}
	p.mark(b, b.Columns[tensors:])
	w.bulk = &read.Bulk{}
	for i, plan := range p.plans {
		w.bulk.Add(pl.fields[i].name, plan, b.Data(&b.Columns[i]))
		w.bytes += b.Columns[i].Size
	}
	w.bulk.Cut(jobsPerThread * max(pl.threads, 1))
	w.storedBytes = w.bytes // before the compression of blocks
	w.batch, w.plan = b, p
	w.jobs = int64(w.bulk.Jobs())
	w.left.Store(w.jobs)
	return true
}

// restore makes the positions of a plan of sorted rows those of the batch.
func (p *plan) restore(plan *chunk.GatherPlan) {
	if plan.Positions == nil {
		plan.Positions = p.order
		return
	}
	for k, i := range plan.Positions {
		plan.Positions[k] = p.order[i]
	}
}

// number finds the rows in the dataset, and of which views they are.
func (p *plan) number(ctx context.Context, f *field, sources bool) bool {
	n := len(p.view)
	p.found = slices.Grow(p.found[:0], n)[:n]
	clear(p.found)
	if f.col.Resolve(ctx, p.sorted, p.found) != nil {
		return false
	}
	p.rows, p.sources = slices.Grow(p.rows[:0], n)[:n], p.sources[:0]
	if sources {
		p.sources = slices.Grow(p.sources, n)[:n]
	}
	for k, i := range p.order {
		p.rows[i] = p.found[k].Row
		if sources {
			p.sources[i] = p.found[k].Source
		}
	}
	return true
}

// reread reads a batch sample by sample, of which some could not be read in bulk. The error is then
// the one of the first such sample.
func (w *work) reread(ctx context.Context, pl *planner, scratch *chunk.Worker, halt *atomic.Bool) {
	again := &work{seq: w.seq}
	pl.scratch = scratch
	if w.err = pl.plan(ctx, again, w.plan); w.err != nil {
		return
	}
	for k := range again.jobs {
		again.do(ctx, int(k), scratch, halt)
	}
	again.settle(false)
	w.batch.Release()
	w.batch, w.err, w.loaded, w.bytes, w.storedBytes = again.batch, again.err, again.loaded, again.bytes, again.storedBytes
}
