package loader

import (
	"cmp"
	"context"
	"sync"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/order"
	"deeplake/core/prefetch"
	"deeplake/core/samplecache"
	"deeplake/core/slab"
)

// Loader delivers the rows of a view in batches, epoch after epoch. All methods may be called in
// parallel.
type Loader struct {
	src        Source
	options    Options
	fields     []field
	order      *order.EpochOrder
	ring       *slab.Ring
	fetched    *prefetch.BufferPool // of prefetched bytes; nil: the store is local
	results    *slab.Ring           // for Memory; nil: not Shareable
	stager     Stager               // nil: batches stay on the CPU
	cache      samplecache.Cache    // nil: none
	blocks     *chunk.BlockCache
	workspaces *workspacePool // of transforms
	trace      *trace         // nil: none

	mu           sync.Mutex
	budget       int64 // of the ring
	resultBudget int64
	epochs       map[*Epoch]bool
	last         *Epoch
	state        *State // at the beginning; nil: not requested
	closed       bool
	carryOver    prefetch.CarryOver // fetched bytes for the next epoch
}

// Open checks the wishes against the view and chooses the order. It reads no samples; with a
// windowed shuffle it asks the view for its stored size. The loader must be closed.
func Open(ctx context.Context, src Source, o Options) (*Loader, error) {
	o, err := o.normal()
	if err != nil {
		return nil, errs.Wrap(errs.Invalid, "open loader", "", err)
	}
	fields, err := o.fields(src)
	if err != nil {
		return nil, errs.Wrap(errs.Invalid, "open loader", "", err)
	}
	epochOrder, err := newEpochOrder(ctx, src, &o)
	if err != nil {
		return nil, errs.Wrap(errs.Storage, "open loader", "", err)
	}
	cache, err := samplecache.Open(o.Cache)
	if err != nil {
		return nil, errs.Wrap(errs.Invalid, "open loader", "", err)
	}
	cacheAll(fields, cache)
	made := newWorkspacePool()
	var ring *slab.Ring
	var stager Stager
	if err = o.augmentAll(fields, made); err == nil {
		ring, stager, err = o.memory()
	}
	if err != nil {
		if cache != nil {
			cache.Close()
		}
		return nil, errs.Wrap(errs.Invalid, "open loader", "", err)
	}
	if stager != nil {
		stageAll(fields, o.Inexact)
	}
	blocks := int64(cachedBlocks)
	if epochOrder.Order().Kind == order.Sequential {
		blocks = sequentialBlocks
	}
	l := &Loader{
		cache: cache, blocks: chunk.NewBlockCache(blocks), workspaces: made, src: src, options: o, fields: fields, budget: o.SlabBytes,
		order:  epochOrder,
		ring:   ring,
		stager: stager,
		epochs: map[*Epoch]bool{},
	}
	if o.Shareable {
		l.results = slab.NewFileRing(0)
	}
	if o.Trace {
		l.trace = newTrace()
	}
	if src.Remote() {
		l.fetched = prefetch.NewBufferPool(o.FetchBytes)
	}
	return l, nil
}

// rings is the memory of the loader that was closed last, for the next one.
var rings = slab.NewSpare(slab.NewRing)

// memory returns the ring into which batches are decoded, and opens their device if there is one.
func (o Options) memory() (*slab.Ring, Stager, error) {
	switch {
	case o.Stager == nil && o.Shareable:
		return slab.NewFileRing(o.SlabBytes), nil, nil
	case o.Stager == nil:
		return rings.Get(o.SlabBytes), nil, nil
	}
	stager, err := o.Stager()
	if err != nil {
		return nil, nil, err
	}
	ring, err := stager.Host(o.SlabBytes)
	if err != nil {
		_ = stager.Close() // it has done nothing yet
		return nil, nil, err
	}
	stager.SetBudget(o.SlabBytes)
	return ring, stager, nil
}

// Batches returns the number of batches of a pass, the same on every rank. With Skip it is an upper
// bound.
func (l *Loader) Batches(p order.Pass) (int64, error) {
	p, err := p.Check(l.order.Order().Rows)
	if err != nil {
		return 0, errs.Wrap(errs.Invalid, "count batches", "", err)
	}
	return l.numbers(p).Steps(), nil
}

// share returns the share of a pass. Each goroutine takes one of its own.
func (l *Loader) share(p order.Pass) *order.Share {
	return l.order.Share(p, int64(l.options.BatchSize), l.options.Tail)
}

// numbers returns a share that counts the rows of a pass, without computing them.
func (l *Loader) numbers(p order.Pass) *order.Share {
	return l.order.Order().Share(p, int64(l.options.BatchSize), l.options.Tail)
}

// Options returns the wishes with their defaults filled in. Maps and slices are shared, read-only.
func (l *Loader) Options() Options { return l.options }

// Start begins a pass: its planner and workers run until the last batch, an error, Close, or the
// end of ctx. Several may run at once; they share memory and nothing else. The epoch must be
// closed.
func (l *Loader) Start(ctx context.Context, p order.Pass) (*Epoch, error) {
	p, err := p.Check(l.order.Order().Rows)
	if err != nil {
		return nil, errs.Wrap(errs.Invalid, "start epoch", "", err)
	}
	if err := l.checkMarks(p); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errs.New(errs.Closed, "start epoch %d: the loader is closed", p.Epoch)
	}
	e := newEpoch(ctx, l, p)
	if e.prefetcher != nil {
		l.takeCarryOver(e)
	}
	l.epochs[e], l.last = true, e
	e.launch()
	return e, nil
}

// checkMarks refuses a tensor with the name of a column of the pass.
func (l *Loader) checkMarks(p order.Pass) error {
	for _, f := range l.fields {
		if f.name == ValidName && l.numbers(p).Marks() {
			return errs.New(errs.Invalid, "start epoch %d: tensor %q has the name of the column that tells repeated rows; leave it out by tensors=, or use tail=%q", p.Epoch, f.name, order.TailDrop)
		}
	}
	return nil
}

// Stats returns the figures of the memory and of the epoch started last. Before the first epoch the
// latter are zero.
func (l *Loader) Stats() Stats {
	l.mu.Lock()
	last := l.last
	l.mu.Unlock()
	if last == nil {
		return Stats{Slabs: l.ring.Stats(), Bottleneck: "no epoch was started"}
	}
	return last.Stats()
}

// Close ends the epochs that still run, waits for their goroutines and gives up the memory that no
// consumer holds: the next loader takes it, or it is freed after some seconds. Calling it again
// does nothing.
func (l *Loader) Close() {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	l.closed = true
	running := make([]*Epoch, 0, len(l.epochs))
	for e := range l.epochs {
		running = append(running, e)
	}
	l.mu.Unlock()
	for _, e := range running {
		e.Close()
	}
	if l.cache != nil {
		l.cache.Close()
	}
	l.blocks.Close()
	l.workspaces.Close()
	if l.stager != nil {
		_ = l.stager.Close() // no batch is left to deliver a failure
	}
	if l.stager == nil && !l.options.Shareable {
		rings.Put(l.ring)
	} else {
		l.ring.Close()
	}
	if l.results != nil {
		l.results.Close()
	}
	if l.fetched != nil {
		l.mu.Lock()
		l.carryOver.Drop(l.fetched)
		l.carryOver = prefetch.CarryOver{}
		l.mu.Unlock()
		l.fetched.Close()
	}
}

// slab gets memory for one batch. The budget of the ring covers the batches in flight, the batch
// that the consumer uses, and the one that it has just dropped. A smaller budget would map and
// unmap memory for each batch.
func (l *Loader) slab(size int64) (*slab.Slab, error) {
	most := int64(l.options.Prefetch + 2 + l.options.Held)
	l.mu.Lock()
	if want := (size + size/8) * most; want > l.budget {
		l.budget = want
		l.ring.SetBudget(want)
		if l.stager != nil {
			l.stager.SetBudget(want)
		}
	}
	l.mu.Unlock()
	if l.stager != nil {
		if err := l.reclaim(most); err != nil {
			return nil, err
		}
	}
	return l.ring.Get(size)
}

// reclaim gets back the slabs that a device has copied. While most are in use, it waits for the
// device: page-locking one more takes longer than its copy, 40 ms for 80 MB on an H200.
func (l *Loader) reclaim(most int64) error {
	for {
		s := l.ring.Stats()
		if s.FreeSlabs > 0 {
			return nil
		}
		if got, err := l.stager.Reclaim(s.Slabs >= most); !got || err != nil {
			return err
		}
	}
}

// Memory returns memory of at least size bytes for results that a consumer makes of batches, in a
// file that other processes may map. It needs the option Shareable. Its ring keeps as much as the
// held batches, the newest and the dropped one take.
func (l *Loader) Memory(size int64) (*slab.Slab, error) {
	if l.results == nil {
		return nil, errs.New(errs.Invalid, "get memory of a loader: it was opened without shareable")
	}
	l.mu.Lock()
	if want := (size + size/8) * int64(l.options.Held+2); want > l.resultBudget {
		l.resultBudget = want
		l.results.SetBudget(want)
	}
	l.mu.Unlock()
	return l.results.Get(size)
}

// forget takes an epoch that has ended off the list of Close.
func (l *Loader) forget(e *Epoch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.epochs, e)
}

// newEpochOrder chooses the order of a source.
func newEpochOrder(ctx context.Context, src Source, o *Options) (*order.EpochOrder, error) {
	choice := order.Options{Shuffle: o.Shuffle, Seed: o.Seed, ShuffleBytes: o.ShuffleBytes, Weights: o.Weights, Length: o.Length, Distinct: o.Distinct}
	if m, ok := src.(*Mix); ok {
		parts := make([]order.Part, len(m.parts))
		for i, p := range m.parts {
			rowBytes, err := bytesOfRow(ctx, p.Source, o.Shuffle)
			if err != nil {
				return nil, m.named(i, err)
			}
			if o.Shuffle == order.Window {
				most, err := windowBytes(ctx, p.Source, rowBytes, o.ShuffleBytes)
				if err != nil {
					return nil, m.named(i, err)
				}
				choice.ShuffleBytes = min(choice.ShuffleBytes, most)
			}
			parts[i] = order.Part{Rows: p.Source.Len(), RowBytes: rowBytes}
		}
		return order.NewMixed(choice, m.policy, parts)
	}
	rowBytes, err := bytesOfRow(ctx, src, o.Shuffle)
	if err == nil && o.Shuffle == order.Window {
		choice.ShuffleBytes, err = windowBytes(ctx, src, rowBytes, o.ShuffleBytes)
	}
	if err != nil {
		return nil, err
	}
	if o.blockBytes > 0 || choice.Slides(src.Len(), rowBytes) {
		if choice.Blocks, err = blocksOf(ctx, src, cmp.Or(o.blockBytes, blockBytes)); err != nil {
			return nil, err
		}
	}
	return order.New(choice, src.Len(), rowBytes)
}

// unpackedWindow bounds the decompressed blocks of small samples that the rows of a window lie in:
// most of those that a loader caches. The next window begins before the last rows are done.
const unpackedWindow = cachedBlocks * 3 / 4

// windowBytes returns the stored bytes of a window of at most the given ones. Each sample of a
// compressed block needs all of the block, so a window is as small as the cache of blocks requires.
func windowBytes(ctx context.Context, src Source, rowBytes, most int64) (int64, error) {
	unpacked := int64(0)
	for _, name := range src.Names() {
		c, err := src.Column(name)
		if err != nil {
			return 0, err
		}
		if a := c.Access(); a.Unpacked != nil {
			n, err := a.Unpacked(ctx)
			if err != nil {
				return 0, err
			}
			unpacked += n
		}
	}
	if unpacked <= unpackedWindow {
		return most, nil
	}
	rows := int64(float64(src.Len()) * unpackedWindow / float64(unpacked))
	return min(most, max(rows, 1)*max(rowBytes, 1)), nil
}

// bytesOfRow returns the stored size of a row on average, if the order depends on it.
func bytesOfRow(ctx context.Context, src Source, kind string) (int64, error) {
	rows := src.Len()
	if kind != order.Window || rows == 0 {
		return 0, nil
	}
	stored, err := src.StoredBytes(ctx)
	return (stored + rows - 1) / rows, err
}
