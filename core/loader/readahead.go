package loader

import (
	"cmp"
	"context"
	"hash/crc32"
	"math"
	"slices"
	"sync"

	"deeplake/core/chunk"
	"deeplake/core/internal/task"
	"deeplake/core/order"
	"deeplake/core/prefetch"
	"deeplake/core/read"
	"deeplake/core/storage"
)

// Bounds of the advice to a page cache.
const (
	// smaller sets are read ahead well enough by the system itself
	leastReadAhead = 64 << 20
	// rows in full random order are advised from this stored size on: planning costs a step a row
	leastFullRow = 16 << 10
	adviceBytes  = 4 << 20 // of one request to the system
	coldProbes   = 32      // rows that are looked for in the cache before the pass
)

// readAhead tells the page cache of a local disk which bytes a pass needs next. A windowed shuffle
// reads samples in random order; by this advice the disk reads whole windows. Of a set that is
// larger than the cache, the bytes behind the pass are dropped, except for some chunks. Otherwise
// the system drops these too, before the next epoch comes to them. See docs/design/prefetch.md.
type readAhead struct {
	cache    storage.PageCache
	schedule *prefetchSchedule
	cols     []read.Access
	blocks   bool    // sliding windows: blocks are read whole when they are opened
	limit    int64   // bytes read ahead that are not used yet
	keep     float64 // part of the chunks that stay in the cache; 1: nothing is dropped

	open []advised // windows that are not behind
	held int64     // their bytes
	last int64     // bytes of the last one

	mu       sync.Mutex
	moved    sync.Cond
	finished int64 // batches
	planned  int64 // positions whose bytes were requested
	wanted   int64 // positions that the planner waits for
	stopped  bool
}

// advised is a window that the cache was told of.
type advised struct {
	until, bytes int64
	spans        []chunk.Span
}

func newReadAhead() *readAhead {
	r := &readAhead{keep: 1}
	r.moved.L = &r.mu
	return r
}

// planReadAhead advises the page cache for the pass of e, if the rows lie in one.
func (e *Epoch) planReadAhead(ctx context.Context) error {
	r := e.readAhead
	defer r.release(math.MaxInt64)
	if e.loader.prepareReadAhead(ctx, r, e.pass, e.fields) {
		r.run(ctx)
	}
	return nil
}

// prepareReadAhead makes the schedule of a pass. It returns false if advice would not help.
func (l *Loader) prepareReadAhead(ctx context.Context, r *readAhead, p order.Pass, fields []field) bool {
	var cols []read.Access
	total := int64(0)
	for i := range fields {
		if a := fields[i].access; a.Prefetch != nil {
			cols = append(cols, a)
			total += a.StoredBytes
		}
	}
	rows := l.src.Len()
	if total < leastReadAhead || rows == 0 || l.order.Order().Kind == order.Full && total/rows < leastFullRow {
		return false
	}
	if r.cache = coldCache(ctx, cols, rows); r.cache == nil {
		return false
	}
	size := r.cache.CacheBytes()
	if size <= 0 { // unknown, or no memory is left
		return false
	}
	r.limit = min(l.fetchLimit(), size)
	s := l.share(p)
	r.schedule, r.cols = newPrefetchSchedule(s, cols, int64(l.options.BatchSize), r.limit, l.options.ShuffleBytes), cols
	if total > size {
		r.keep = float64(size-r.limit) / float64(total)
	}
	if r.blocks = s.UnreadRows() > 0 && s.Alone() && p.Position == 0; r.blocks {
		// The unread rest of open blocks is in the cache, too.
		r.limit = max(r.limit-s.UnreadRows()*r.schedule.row, r.limit/8)
	}
	return true
}

// coldCache returns the page cache of the rows. It returns nil if there is none, or if the cache
// seems to hold all rows, by some of the largest column: advice then only takes time.
func coldCache(ctx context.Context, cols []read.Access, rows int64) storage.PageCache {
	probes := min(rows, coldProbes)
	runs := make([][2]int64, probes)
	for i := range runs {
		row := int64(i) * rows / probes
		runs[i] = [2]int64{row, row + 1}
	}
	largest := slices.MaxFunc(cols, func(a, b read.Access) int { return cmp.Compare(a.StoredBytes, b.StoredBytes) })
	spans, _ := largest.Prefetch(ctx, runs) // the batch that needs a row meets its error
	for _, s := range spans {
		if cache := s.PageCache(); cache != nil && !cache.Resident(s.Object, s.Offset) {
			return cache
		}
	}
	return nil
}

// run reads windows ahead as far as the limit allows, and drops those behind.
func (r *readAhead) run(ctx context.Context) {
	drops := task.New(ctx, 1) // beside reading, so that the disk always has requests
	defer func() {
		position, _ := r.await(0)
		r.dropBehind(drops, position)
		_ = drops.Wait()
	}()
	for r.schedule.at < r.schedule.end {
		position, ok := r.await(r.space())
		if !ok {
			return
		}
		if r.dropBehind(drops, position); r.space() > 0 && !r.needed() {
			continue
		}
		to, windows := r.schedule.next(ctx)
		if r.blocks && !r.readOpened(ctx) {
			return
		}
		for _, w := range windows {
			a := advised{until: w.Until}
			for _, list := range w.Spans {
				a.spans = append(a.spans, list...)
				a.bytes += unionBytes(list)
			}
			if !r.blocks && !r.read(a.spans) {
				return
			}
			r.open = append(r.open, a)
			r.held, r.last = r.held+a.bytes, a.bytes
		}
		r.release(to)
	}
	for len(r.open) > 0 && r.keep < 1 {
		position, ok := r.await(r.open[0].until)
		if !ok {
			return
		}
		r.dropBehind(drops, position)
	}
}

// space returns the position to wait for until another window may be read: 0 if it may be now.
func (r *readAhead) space() int64 {
	if len(r.open) == 0 || r.held+r.last <= r.limit {
		return 0
	}
	return r.open[0].until
}

// dropBehind forgets the windows before a position.
func (r *readAhead) dropBehind(drops *task.Group, position int64) {
	for len(r.open) > 0 && r.open[0].until <= position {
		behind := r.open[0]
		drops.Go(func(context.Context) error {
			r.drop(behind.spans)
			return nil
		})
		r.held -= behind.bytes
		r.open = r.open[1:]
	}
}

// read asks for spans, those that follow each other at once. It returns false after stop.
func (r *readAhead) read(spans []chunk.Span) bool {
	for i := 0; i < len(spans); {
		key, from := spans[i].Object, spans[i].Offset
		to := from + spans[i].Bytes
		for i++; i < len(spans) && spans[i].Object == key && spans[i].Offset == to && to-from < adviceBytes; i++ {
			to += spans[i].Bytes
		}
		if _, ok := r.await(0); !ok {
			return false
		}
		r.cache.ReadAhead(key, from, to-from)
	}
	return true
}

// readOpened asks for the blocks that a sliding window opens. This and later windows need them. A
// rank may need a small part of each block, and a pass that begins late the rest of it: these read
// window by window.
func (r *readAhead) readOpened(ctx context.Context) bool {
	runs := r.schedule.share.Opened()
	if len(runs) == 0 {
		return true
	}
	for _, c := range r.cols {
		spans, _ := c.Prefetch(ctx, runs) // the batch that needs a row meets its error
		if !r.read(spans) {
			return false
		}
	}
	return true
}

// drop removes spans from the cache, unless their chunk is one that stays.
func (r *readAhead) drop(spans []chunk.Span) {
	if r.keep >= 1 {
		return
	}
	for _, s := range spans {
		if float64(crc32.ChecksumIEEE([]byte(s.Object)))/math.MaxUint32 >= r.keep {
			r.cache.DropPages(s.Object, s.Offset, s.Bytes)
		}
	}
}

// await waits until the batches before a position have ended, or the planner needs more windows.
// It returns the position that the batches have reached, and false after stop.
func (r *readAhead) await(position int64) (int64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		// Batches end in another order by a few, which matters little to advice.
		at := int64(math.MaxInt64)
		if r.schedule != nil && r.finished*r.schedule.batch < r.schedule.end {
			at = r.finished * r.schedule.batch
		}
		if at >= position || r.wanted > r.planned || r.stopped {
			return at, !r.stopped
		}
		r.moved.Wait()
	}
}

// needed reports whether the planner waits for a window. A batch may need two windows while the
// limit admits one, so the limit gives way.
func (r *readAhead) needed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wanted > r.planned
}

// release lets batches before a position be planned.
func (r *readAhead) release(to int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.planned = to
	r.moved.Broadcast()
}

// follow waits until the bytes before a position were requested. Threads that come earlier would
// read sample by sample, in competition with the large reads.
func (r *readAhead) follow(to int64, w prefetch.Waiter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wanted = max(r.wanted, to); r.wanted > r.planned {
		r.moved.Broadcast()
	}
	for r.planned < to && !r.stopped {
		w.Pause()
		r.moved.Wait()
		w.Resume()
	}
}

// done counts a batch that needs its bytes no more.
func (r *readAhead) done() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finished++
	r.moved.Broadcast()
}

// stop ends the advice.
func (r *readAhead) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	r.moved.Broadcast()
}
