package loader

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/order"
	"deeplake/core/prefetch"
	"deeplake/core/storage"
	"deeplake/core/transform"
)

// Epoch is one pass over the rows, or the part of it that is this rank's. Next, Stats and Close may
// be called in parallel.
//
// One planner makes batches in order, at most Options.Prefetch ahead of the consumer; the workers
// fill them, the earliest first; the consumer takes them in order.
type Epoch struct {
	loader     *Loader
	fields     []field // of the loader, as the epoch shows them
	pass       order.Pass
	again      bool         // the loader made an epoch before
	share      *order.Share // the planner's
	batches    int64
	group      *task.Group
	prefetcher *prefetch.Prefetcher // nil: the store is local
	readAhead  *readAhead           // nil: the store is remote
	before     storage.Stats        // of the store when the epoch began
	unwatch    func() bool
	notes      atomic.Int64
	halt       atomic.Bool // goroutines are to end as soon as they can

	nextToken chan struct{} // taken by one caller of Next at a time
	wake      chan struct{} // the front of the queue may be ready

	mu        sync.Mutex
	published sync.Cond // for workers: a batch was planned, or there will be none
	freed     sync.Cond // for the planner: a batch was taken
	queue     []*work   // planned and not taken; queue[0] is batch number taken
	taken     int64
	limit     int64 // batches behind this one will not be delivered: it failed
	complete  bool  // no more batches will be planned
	spare     []*plan
	asked     bool // Next waits for a batch
	closed    bool
	err       error // of every Next from now on

	meters struct {
		start    time.Time
		end      time.Duration // of the epoch; 0 while it runs
		planner  meter
		workers  []meter
		consumer meter
	}
	counts counts // guarded by mu
	// The batch that the consumer has, and since when, where there is a trace; guarded by turn.
	handed   int64
	handedAt time.Time
	after    storage.Stats // of the store when the epoch ended
}

func newEpoch(ctx context.Context, l *Loader, p order.Pass) *Epoch {
	s := l.share(p)
	e := &Epoch{loader: l, fields: fieldsIn(l.fields, l.options.Seed, p.Epoch), pass: p, again: l.last != nil, share: s, batches: s.Steps(),
		group: task.New(ctx, 0), nextToken: make(chan struct{}, 1), wake: make(chan struct{}, 1)}
	e.limit = e.batches
	e.published.L, e.freed.L = &e.mu, &e.mu
	e.meters.start = time.Now()
	e.meters.workers = make([]meter, l.options.Workers)
	for i := range e.meters.workers {
		e.meters.workers[i].zero = e.meters.start
	}
	e.meters.planner.zero, e.meters.consumer.zero = e.meters.start, e.meters.start
	requested := e.follow(l.trace.epoch(p.Epoch))
	if l.fetched != nil {
		e.before = l.src.Traffic()
		e.prefetcher = prefetch.New(e.group, l.fetched, prefetch.Options{Limit: l.fetchLimit(), Batch: int64(l.options.BatchSize), Requested: requested})
	} else {
		e.readAhead = newReadAhead()
	}
	return e
}

// fieldsIn returns fields as an epoch shows them.
func fieldsIn(fields []field, seed uint64, epoch int64) []field {
	out := fields
	for i := range fields {
		at := fields[i].access.Epoch
		if at == nil {
			continue
		}
		if &out[0] == &fields[0] {
			out = slices.Clone(fields)
		}
		out[i].col = at(seed, epoch)
		out[i].access = out[i].col.Access()
	}
	return out
}

// launch starts the goroutines. An early end of the group wakes all that wait for each other. A
// panic in one of them or the caller's context ends the group.
func (e *Epoch) launch() {
	e.unwatch = context.AfterFunc(e.group.Context(), e.stop)
	e.meters.consumer.begin()
	if e.prefetcher != nil {
		e.group.Go(e.planPrefetch)
	} else {
		e.group.Go(e.planReadAhead)
	}
	e.group.Go(e.planAll)
	for i := range e.meters.workers {
		m := &e.meters.workers[i]
		e.group.Go(func(ctx context.Context) error { return e.worker(ctx, m) })
	}
}

// stop tells the goroutines to end.
func (e *Epoch) stop() {
	e.halt.Store(true)
	if e.prefetcher != nil {
		e.prefetcher.Stop()
	} else {
		e.readAhead.stop()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.published.Broadcast()
	e.freed.Broadcast()
}

// planAll returns the planner's loop.
func (e *Epoch) planAll(ctx context.Context) error {
	m := &e.meters.planner
	m.begin()
	defer m.end()
	o := &e.loader.options
	pl := e.planner()
	pl.bulk = e.bulkChance(ctx)
	if slices.ContainsFunc(pl.fields, func(f field) bool { return f.looks() }) {
		pl.scratch = e.loader.src.NewWorker()
		defer pl.scratch.Close()
	}
	for seq := range e.batches {
		p := e.planMemory()
		n := e.share.Size(seq)
		p.view = slices.Grow(p.view[:0], int(n))[:n]
		e.share.Fill(p.view, seq)
		p.marked, p.valid, p.tried = e.share.Marked(seq), int(e.share.Valid(seq)), false
		if !o.OnDemand && pl.bulk != nil { // while the queue is full
			at := m.track.mark()
			pl.locate(ctx, p)
			m.track.span("plan", at, "batch", seq)
		}
		if !e.awaitSlot(m) {
			break
		}
		w := &work{seq: seq}
		if e.prefetcher != nil {
			e.prefetcher.Await(seq*int64(o.BatchSize)+n, m)
			if pl.scratch != nil {
				pl.scratch.SetReadAhead(e.prefetcher.ReadAhead(m))
			}
		} else {
			e.readAhead.follow(seq*int64(o.BatchSize)+n, m)
		}
		at := m.track.mark()
		w.err = pl.plan(ctx, w, p)
		w.nameFiles(ctx, pl.fields, &e.notes)
		m.track.span("plan", at, "batch", seq)
		e.publish(w, p)
		if w.err != nil {
			break
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.complete = true
	e.published.Broadcast()
	e.notify()
	return nil
}

// planner returns the planner of single samples.
func (e *Epoch) planner() *planner {
	o := &e.loader.options
	return &planner{fields: e.fields, skip: o.OnError == Skip, index: o.ReturnIndex, source: o.ReturnIndex && isMix(e.loader.src), slab: e.loader.slab, threads: o.Workers,
		key: transform.Key{Seed: o.Seed, Epoch: e.pass.Epoch}}
}

// planMemory returns memory to plan a batch in.
func (e *Epoch) planMemory() *plan {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := len(e.spare); n > 0 {
		p := e.spare[n-1]
		e.spare = e.spare[:n-1]
		return p
	}
	return &plan{}
}

// awaitSlot waits until another batch may be planned. It reports false at the planner's end.
func (e *Epoch) awaitSlot(m *meter) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for !e.mayPlan() && !e.halt.Load() && e.limit == e.batches {
		m.Pause()
		e.freed.Wait()
		m.Resume()
	}
	return !e.halt.Load() && e.limit == e.batches
}

// mayPlan reports whether the planner may begin a batch. The caller has the lock.
func (e *Epoch) mayPlan() bool {
	o := &e.loader.options
	return len(e.queue) < o.Prefetch && (e.asked || !o.OnDemand)
}

// publish hands a planned batch to the workers; one without jobs is ready at once.
func (e *Epoch) publish(w *work, p *plan) {
	if s := e.loader.stager; s != nil {
		w.split = s.Split()
	}
	if w.jobs == 0 {
		w.plan = p
		if w.err == nil && w.batch != nil {
			w.settle(false)
			w.err = e.stage(w)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue = append(e.queue, w)
	if w.jobs == 0 {
		e.ready(w)
		return
	}
	e.published.Broadcast()
}

// await returns batch seq, or the first batch not taken if that one is later. It waits until the
// batch is planned. A worker ends on nil.
func (e *Epoch) await(seq int64, m *meter) *work {
	e.mu.Lock()
	defer e.mu.Unlock()
	for !e.halt.Load() && seq <= e.limit {
		seq = max(seq, e.taken)
		if i := seq - e.taken; i < int64(len(e.queue)) {
			return e.queue[i]
		}
		if e.complete {
			break
		}
		m.Pause()
		e.published.Wait()
		m.Resume()
	}
	return nil
}

// finish is called by the worker that did the last job of w.
func (e *Epoch) finish(ctx context.Context, w *work, scratch *chunk.Worker) {
	o := &e.loader.options
	if w.bulk != nil && w.bulk.Failure().Err != nil {
		w.reread(ctx, e.planner(), scratch, &e.halt)
	} else {
		w.settle(o.OnError == Skip)
	}
	if err := e.stage(w); errors.Is(err, ErrRefused) {
		if w.err = w.redo(ctx, scratch, o.OnError == Skip); w.err == nil {
			w.err = e.stage(w)
		}
	} else if err != nil {
		w.err = err
	}
	w.nameFiles(ctx, e.fields, &e.notes)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ready(w)
}

// stage begins to bring a settled batch to the device, where there is one.
func (e *Epoch) stage(w *work) error {
	if s := e.loader.stager; s != nil && w.err == nil && w.loaded > 0 {
		return w.batch.stage(s, e.loader.options.HostDTypes)
	}
	return nil
}

// ready passes w to the consumer and takes its planning memory back. The caller has the lock.
func (e *Epoch) ready(w *work) {
	w.ready = true
	if e.prefetcher != nil {
		e.prefetcher.Done(w.seq)
	} else {
		e.readAhead.done()
	}
	e.spare = append(e.spare, w.plan)
	w.plan = nil
	if w.err != nil && w.seq < e.limit {
		e.limit = w.seq
		e.published.Broadcast()
		e.freed.Broadcast()
	}
	if len(e.queue) > 0 && e.queue[0] == w {
		e.notify()
	}
}

// notify wakes the consumer. A token that lies there already will do.
func (e *Epoch) notify() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Next returns the next batch. The caller releases its slab. At the end of the epoch the batch is
// nil, without an error. If ctx ends first, the error is errs.Canceled and no batch is lost: the
// next call waits for the same one. Any other error ends the epoch, and later calls return it
// again.
func (e *Epoch) Next(ctx context.Context) (*Batch, error) {
	select {
	case e.nextToken <- struct{}{}:
	default:
		select {
		case e.nextToken <- struct{}{}:
		case <-ctx.Done():
			return nil, errs.Cause(ctx, "load batch")
		}
	}
	defer func() { <-e.nextToken }()
	for {
		b, ready, err := e.step()
		if ready || err != nil {
			return b, err
		}
		if err := e.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// Try is Next without the wait: it reports whether there was a batch, or the end of the epoch
// (nil), to be had at once.
func (e *Epoch) Try() (b *Batch, ready bool, err error) {
	select {
	case e.nextToken <- struct{}{}:
	default:
		return nil, false, nil
	}
	defer func() { <-e.nextToken }()
	return e.step()
}

// step takes the next batch with rows, once all batches before it are ready. The caller has
// nextToken.
func (e *Epoch) step() (b *Batch, ready bool, err error) {
	e.consumed()
	for {
		w, end, err := e.take()
		if end || err != nil {
			if err == nil {
				err = e.nothing()
			}
			e.shut(err)
			return nil, true, err
		}
		if w == nil {
			return nil, false, nil
		}
		e.freed.Signal() // without the lock, which the planner takes first of all
		if w.batch == nil || w.loaded == 0 {
			if err := e.emptied(w); err != nil {
				e.shut(err)
				return nil, true, err
			}
			continue
		}
		w.batch.Position, w.batch.Last = e.share.Behind(w.seq), w.seq == e.batches-1
		e.handed, e.handedAt = w.seq, e.meters.consumer.track.mark()
		return w.batch, true, nil
	}
}

// emptied drops a batch of which every row was skipped. Where other ranks take the same step there
// must be a batch.
func (e *Epoch) emptied(w *work) error {
	if w.batch != nil {
		w.batch.Release()
	}
	if e.pass.World == 1 {
		return nil
	}
	return errs.New(errs.Corrupt, "load batch %d on rank %d of %d: none of its rows can be read, and without a batch this rank would lose step with the others; use a larger batch_size, or leave the rows out of the view: %w",
		w.seq, e.pass.Rank, e.pass.World, w.skips[0].err)
}

// nothing returns an error if no row of a whole epoch could be read. Without it, a training loop
// would end as if it had trained.
func (e *Epoch) nothing() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.counts.rows > 0 || e.counts.skipped == 0 || e.pass.Position > 0 || e.err != nil {
		return nil
	}
	return errs.New(errs.KindOf(e.counts.firstSkip), "load epoch: none of its %d rows can be read, and all were skipped; the first: %w", e.counts.skipped, e.counts.firstSkip)
}

// pause waits until the front of the queue may have changed.
func (e *Epoch) pause(ctx context.Context) error {
	m := &e.meters.consumer
	m.Pause()
	defer m.Resume()
	select {
	case <-e.wake:
	case <-e.group.Context().Done():
	case <-ctx.Done():
		return errs.Cause(ctx, "load batch")
	}
	return nil
}

// take returns the front of the queue if it is ready, or reports the end of the epoch.
func (e *Epoch) take() (w *work, end bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.err != nil:
		return nil, true, e.err
	case e.closed:
		return nil, true, errs.Op("load batch", "").New(errs.Closed, "the epoch is closed")
	case e.taken == e.batches:
		return nil, true, nil
	case e.group.Context().Err() != nil:
		return nil, true, errs.Cause(e.group.Context(), "load batch")
	case len(e.queue) == 0 || !e.queue[0].ready:
		if e.loader.options.OnDemand && !e.asked {
			e.asked = true
			e.freed.Signal()
		}
		return nil, false, nil
	}
	w = e.queue[0]
	if w.err != nil {
		return nil, true, w.err
	}
	if w.loaded > 0 {
		ready := 0
		for _, q := range e.queue {
			if q.ready {
				ready++
			}
		}
		e.counts.handed(ready, e.meters.start)
	}
	e.queue = append(e.queue[:0], e.queue[1:]...)
	e.taken++
	e.asked = false
	e.counts.add(w)
	return w, false, nil
}

// Close ends the epoch: samples being decoded are finished, the others dropped, the memory of
// batches that were not taken returned. When it returns no goroutine of the epoch is left. Calling
// it again does nothing; a Next that waits returns errs.Closed.
func (e *Epoch) Close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.shut(nil)
}

// shut ends the goroutines, waits for them and drops their batches. Next returns err from now on.
func (e *Epoch) shut(err error) {
	e.mu.Lock()
	if e.err == nil {
		e.err = err
	}
	e.mu.Unlock()
	e.unwatch()
	e.stop()
	e.group.Stop()
	_ = e.group.Wait() // Next has delivered the failure, or no caller wants it
	e.mu.Lock()
	left := e.queue
	e.queue = nil
	if e.meters.end == 0 {
		if e.prefetcher != nil {
			e.after = e.loader.src.Traffic()
		}
		e.meters.end = time.Since(e.meters.start)
		e.meters.consumer.end()
	}
	e.mu.Unlock()
	if e.prefetcher != nil {
		e.loader.leaveCarryOver(e)
	}
	for _, w := range left {
		if w.batch != nil {
			w.batch.Release()
		}
	}
	e.loader.forget(e)
}
