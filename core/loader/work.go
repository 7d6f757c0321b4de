package loader

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync/atomic"

	"deeplake/core/chunk"
	"deeplake/core/errs"
)

// The memory in which a loader caches blocks of small samples, for all threads and from epoch to
// epoch: of a shuffled order, and of one in sequence, whose threads share the blocks at which their
// rows meet.
const (
	cachedBlocks     = 256 << 20
	sequentialBlocks = 8 << 20
)

// worker returns the loop of one decode thread: jobs of the earliest batch that has some left,
// until the epoch ends. Taking a job is one atomic addition; the lock of the epoch is taken once a
// batch.
func (e *Epoch) worker(ctx context.Context, m *meter) error {
	scratch := e.loader.src.NewWorker()
	defer scratch.Close()
	if e.loader.options.OnError == Accept {
		scratch.AcceptDamage()
	}
	scratch.CacheBlocks(e.loader.blocks)
	m.begin()
	defer m.end()
	for seq := int64(0); ; seq++ {
		w := e.await(seq, m)
		if w == nil {
			return nil
		}
		seq = w.seq
		for {
			k := w.next.Add(1) - 1
			if k >= w.jobs {
				break
			}
			if e.halt.Load() {
				return nil
			}
			// A goroutine that runs for 10 ms without being scheduled loses its P in every call
			// into C. Each loss costs the thread several switches. A goroutine scheduled just now
			// keeps its P through a job.
			runtime.Gosched()
			if e.prefetcher != nil {
				scratch.SetReadAhead(e.prefetcher.ReadAhead(m))
			}
			at := m.track.mark()
			w.do(ctx, int(k), scratch, &e.halt)
			m.track.span("decode", at, "batch", seq)
			if w.left.Add(-1) == 0 {
				e.finish(ctx, w, scratch)
			}
		}
	}
}

// do does job k, until halt.
func (w *work) do(ctx context.Context, k int, scratch *chunk.Worker, halt *atomic.Bool) {
	if w.bulk != nil {
		_ = w.bulk.Run(ctx, k, scratch) // see Failure
		return
	}
	w.run(ctx, &w.plan.jobs[k], scratch, halt)
}

// run reads the items of one job into the slab, until halt.
func (w *work) run(ctx context.Context, j *job, scratch *chunk.Worker, halt *atomic.Bool) {
	p := &w.plan.parts[j.part]
	defer w.accept(p, scratch)
	mem := w.batch.Slab.Bytes()
	if p.images != nil {
		w.runStaged(ctx, j, mem, scratch)
		return
	}
	if p.field.augment != nil {
		w.runAugmented(ctx, j, mem, scratch)
		return
	}
	if p.field.runs && j.to-j.from > 1 {
		w.runMany(ctx, j, mem, scratch)
		return
	}
	for k := j.from; k < j.to && !halt.Load(); k++ {
		i := int(k)
		if j.items != nil {
			i = int(j.items[k])
		}
		r := &p.refs[i]
		if r.Hole() {
			continue
		}
		if err := p.read(ctx, mem, i, scratch); err != nil {
			w.fail(p, i, err)
		}
	}
}

// runMany reads all items of a job at once.
func (w *work) runMany(ctx context.Context, j *job, mem []byte, scratch *chunk.Worker) {
	p := &w.plan.parts[j.part]
	n := int(j.to - j.from)
	refs, dst, items := make([]*chunk.Ref, 0, n), make([][]byte, 0, n), make([]int, 0, n)
	for k := j.from; k < j.to; k++ {
		i := int(k)
		if j.items != nil {
			i = int(j.items[k])
		}
		if r := &p.refs[i]; !r.Hole() {
			refs, dst, items = append(refs, r), append(dst, p.target(mem, i)), append(items, i)
		}
	}
	bad := make([]bool, len(items))
	p.field.access.DecodeRun(ctx, refs, dst, scratch, func(k int, err error) {
		bad[k] = true
		w.fail(p, items[k], err)
	})
	for k, i := range items {
		if !bad[k] {
			p.grow(mem, i, dst[k])
		}
	}
}

// read reads item i into the slab.
func (p *part) read(ctx context.Context, mem []byte, i int, scratch *chunk.Worker) error {
	r, dst := &p.refs[i], p.target(mem, i)
	if p.field.stored {
		return p.field.col.Stored(ctx, r, dst, scratch)
	}
	if err := p.field.col.Decode(ctx, r, dst, scratch); err != nil {
		return err
	}
	p.grow(mem, i, dst)
	return nil
}

// fail notes that item i cannot be read.
func (w *work) fail(p *part, i int, err error) {
	position := p.positionOf(i)
	row := p.rows[position].Row
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = append(w.failed, failure{position: position, row: row, tensor: p.field.name, err: rowError(p.field.name, row, err)})
}

// accept notes the items of p whose damage scratch has accepted.
func (w *work) accept(p *part, scratch *chunk.Worker) {
	for _, a := range scratch.TakeAccepted() {
		for i := range p.refs {
			if &p.refs[i] != a.Ref {
				continue
			}
			position := p.positionOf(i)
			row := p.rows[position].Row
			w.mu.Lock()
			w.accepted = append(w.accepted, failure{position: position, row: row, tensor: p.field.name, err: rowError(p.field.name, row, a.Err)})
			w.mu.Unlock()
		}
	}
}

// settle converts the failures of a batch to its error, or to skipped rows, once all jobs are done.
// The first failed row in the batch gives the error, so that it does not depend on threads.
func (w *work) settle(skip bool) {
	w.loaded = int64(w.batch.Rows)
	w.settleAccepted()
	if len(w.failed) == 0 {
		return
	}
	inOrder(w.failed)
	bad := make([]bool, w.batch.Rows)
	for _, f := range w.failed {
		if !skip || !errs.OfSample(f.err) {
			w.err = f.err
			return
		}
		if !bad[f.position] {
			bad[f.position] = true
			w.skips = append(w.skips, f)
		}
	}
	w.batch.leaveOut(bad)
	w.loaded = int64(w.batch.Rows)
}

// nameFiles adds the files of the rows at fault to the error of w, and to its notes, of which
// *notes were made before: a report shows the first ones alone.
func (w *work) nameFiles(ctx context.Context, fields []field, notes *atomic.Int64) {
	if len(fields) == 0 || fields[0].access.Origin == nil {
		return
	}
	access := &fields[0].access
	w.err = access.NameFile(ctx, w.err)
	for _, list := range [][]failure{w.skips, w.accepts} {
		for i := range list {
			f := &list[i]
			if f.named {
				continue
			}
			if notes.Add(1) > 2*maxSkipNotes { // of skips and of accepts
				return
			}
			f.err, f.named = access.NameFile(ctx, f.err), true
		}
	}
}

// settleAccepted makes the report of accepted rows, each of which is in it once.
func (w *work) settleAccepted() {
	w.accepts = slices.CompactFunc(inOrder(slices.Clone(w.accepted)), func(a, b failure) bool { return a.position == b.position })
}

// inOrder sorts failures by row of the batch and tensor, whatever thread met them.
func inOrder(failures []failure) []failure {
	slices.SortStableFunc(failures, func(a, b failure) int {
		return cmp.Or(cmp.Compare(a.position, b.position), cmp.Compare(a.tensor, b.tensor))
	})
	return failures
}

// leaveOut removes rows from a finished batch by moving later rows down in the slab.
func (b *Batch) leaveOut(bad []bool) {
	keep := make([]bool, len(bad))
	rows := 0
	for i := range bad {
		if keep[i] = !bad[i]; keep[i] {
			rows++
		}
	}
	mem := b.Slab.Bytes()
	for i := range b.Columns {
		b.Columns[i].leaveOut(mem, keep)
	}
	b.Rows = rows
}

func (c *BatchColumn) leaveOut(mem []byte, keep []bool) {
	items := keep
	if c.Splits != nil {
		items = make([]bool, c.Count)
		splits := []int64{0}
		for i, k := range keep {
			n := c.Splits[i+1] - c.Splits[i]
			for j := range n {
				items[c.Splits[i]+j] = k
			}
			if k {
				splits = append(splits, splits[len(splits)-1]+n)
			}
		}
		c.Splits = splits
	}
	if c.Null != nil {
		c.Null = filter(c.Null, keep)
	}
	switch c.Kind {
	case KindArray:
		c.moveArray(mem, items)
	case KindList:
		c.Items = filter(c.Items, items)
		c.Count = len(c.Items)
	case KindBytes:
		c.moveBytes(mem, items)
	}
}

func (c *BatchColumn) moveArray(mem []byte, keep []bool) {
	size := c.Size / int64(c.Count)
	if c.images != nil { // they lie in any order
		c.images.items = filter(c.images.items, keep)
		n := int64(len(c.images.items))
		c.Count, c.Size, c.Shape[0] = int(n), n*size, n
		return
	}
	data := mem[c.Offset : c.Offset+c.Size]
	n := int64(0)
	for i, k := range keep {
		if k {
			copy(data[n*size:(n+1)*size], data[int64(i)*size:])
			n++
		}
	}
	c.Count, c.Size, c.Shape[0] = int(n), n*size, n
}

func (c *BatchColumn) moveBytes(mem []byte, keep []bool) {
	starts, data := mem[c.Starts:], mem[c.Offset:c.Offset+c.Size]
	n, used := 0, int64(0)
	for i, k := range keep {
		from, to := getInt64(starts, i), getInt64(starts, i+1)
		if k {
			copy(data[used:], data[from:to])
			putInt64(starts, n, used)
			used += to - from
			n++
		}
	}
	putInt64(starts, n, used)
	c.Count, c.Size = n, used
}
