package prefetch

import (
	"context"
	"slices"
	"sort"
	"sync"
	"time"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/slab"
)

// Options configure a prefetcher.
type Options struct {
	Limit int64 // bytes held and in flight; both use the same memory
	Batch int64 // positions of a batch
	Lead  int64 // positions fetched before all others; 0: those of the first batch

	// nil: chunk.Span.Stream
	Fetch func(s chunk.Span, ctx context.Context, dst []byte, landed func(n int64)) error
	// called at the end of each request; may be nil
	Requested func(began time.Time, bytes int64)
	// do not prefault new memory
	SkipPrefault bool
}

// Waiter learns when a goroutine waits.
type Waiter interface {
	Pause()
	Resume()
}

// Prefetcher holds bytes of objects from before their use until after their last use. The caller
// plans them by windows: parts of a pass whose bytes are needed at about the same time. All methods
// may be called in parallel.
//
// Requests are issued in plan order, one per buffer. A multiple of the measured throughput bounds
// the bytes in flight. Neighbouring extents share a request: always on a link of long delay, only
// within a window on a narrow link. The bytes of the first batch go first. A buffer lives until the
// end of the last window that needs it. The bytes of a request for many windows are copied into
// buffers of their own for each, which end one by one.
//
// Bytes that a goroutine waits for are requested at once, beyond all bounds. Therefore no order of
// events can deadlock.
type Prefetcher struct {
	group   *task.Group
	pool    *BufferPool
	options Options

	mu          sync.Mutex
	joinWindows int       // a request spans at most so many windows
	ahead       int       // so many windows behind that of a request are planned before it
	most        int64     // bytes of a request for several windows
	changed     sync.Cond // signals planned or released bytes, and the opened gate
	objects     map[string]*object
	queue       []*extent
	used        map[int][]*extent // extents by the windows that need them
	windows     []window
	open        []int // windows that have not ended, the first to end first
	indexed     int64 // positions before it are planned
	wanted      int64 // positions that a goroutine waits for
	complete    bool  // no more windows follow
	stopped     bool
	gate        bool // requests may be sent
	keep        bool // keep all buffers for the next pass
	exact       int  // windows before it share no requests with later ones
	finished    map[int64]bool
	watermark   int64 // batches before it have ended

	carriers    map[*buffer]bool // of requests in flight whose bytes are copied
	cold        []*slab.Slab     // new memory that awaits prefaulting
	prefaulting bool

	planned  int64 // bytes of all extents
	useful   int64 // of these, bytes in buffers
	buffered int64 // bytes of buffers
	flying   int64 // bytes in flight
	running  int64 // requests in flight
	link     linkEstimator
	head     struct{ all, flying int64 } // bytes of the first batch
	counts   Figures
}

// Figures are the counters of a prefetcher.
type Figures struct {
	Requests, Bytes        int64         // requested
	Used                   int64         // of these bytes, the planned ones
	Direct                 int64         // reads that it did not serve
	Running, Flying        int64         // requests in flight, and their bytes
	Buffered, PeakBuffered int64         // bytes in memory and in flight
	Took, Longest          time.Duration // of all requests; of the longest
	Waited, Index          time.Duration // for bytes and for plans, summed over goroutines
}

// Figures returns the counters.
func (p *Prefetcher) Figures() Figures {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.counts
	f.Running, f.Flying, f.Buffered = p.running, p.flying, p.buffered
	return f
}

// window is a part of a plan: its bytes are needed at positions [begin, until).
type window struct{ begin, until int64 }

// object lists the planned extents of one object, in order and disjoint.
type object struct {
	extents []*extent
	bytes   int64
}

// extent is a run of planned bytes: whole blocks.
type extent struct {
	span   chunk.Span
	first  int     // the first window that needs it
	last   int     // the last planned window that needs it
	needs  int     // planned windows that need it and have not ended
	buffer *buffer // nil: not requested
	gone   bool    // released unread
}

func (e *extent) end() int64 { return e.span.Offset + e.span.Bytes }

// New makes a prefetcher whose goroutines belong to g. Close it after g has ended.
func New(g *task.Group, memory *BufferPool, o Options) *Prefetcher {
	if o.Lead == 0 {
		o.Lead = o.Batch
	}
	if o.Fetch == nil {
		o.Fetch = chunk.Span.Stream
	}
	p := &Prefetcher{group: g, pool: memory, options: o, joinWindows: 1,
		objects: map[string]*object{}, used: map[int][]*extent{}, most: MaxRequest, finished: map[int64]bool{}, carriers: map[*buffer]bool{}}
	p.changed.L = &p.mu
	return p
}

// JoinWithin lets a request span bytes that are needed up to reach windows later. A narrow link
// overrides it.
func (p *Prefetcher) JoinWithin(reach int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.joinWindows = reach
}

// Slide is JoinWithin for windows that need a part each of bytes that lie together. A request
// begins when so many windows behind its own are planned, and has at most so many bytes. The part
// of each window is released by itself.
func (p *Prefetcher) Slide(windows int, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.joinWindows, p.ahead, p.most = windows, windows, min(bytes, MaxRequest)
}

// Limit returns the bound of the bytes held.
func (p *Prefetcher) Limit() int64 { return p.options.Limit }

// Window is spans that are needed from the last planned position on, at positions before Until.
type Window struct {
	Spans [][]chunk.Span // the lists are requested in order
	Until int64
}

// Plan adds a window: the positions before to, and the spans that they need.
func (p *Prefetcher) Plan(to int64, spans [][]chunk.Span) { p.PlanWindows(to, Window{spans, to}) }

// PlanWindows declares the positions before to planned. The new ones need no bytes but those of ws
// and of earlier windows.
func (p *Prefetcher) PlanWindows(to int64, ws ...Window) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range ws {
		n := len(p.windows)
		p.windows = append(p.windows, window{p.indexed, w.Until})
		at := sort.Search(len(p.open), func(i int) bool { return p.windows[p.open[i]].until > w.Until })
		p.open = slices.Insert(p.open, at, n)
		for _, list := range w.Spans {
			for _, s := range list {
				p.cover(n, s)
			}
		}
	}
	p.indexed = to
	p.pump()
	p.changed.Broadcast()
}

// cover adds span s to window n.
func (p *Prefetcher) cover(n int, s chunk.Span) {
	o := p.objects[s.Object]
	if o == nil {
		o = &object{}
		p.objects[s.Object] = o
	}
	off, end := s.Offset, s.Offset+s.Bytes
	at := o.search(off)
	for off < end {
		if at < len(o.extents) && o.extents[at].span.Offset <= off {
			e := o.extents[at]
			if e.last != n {
				e.last = n
				e.needs++
				p.used[n] = append(p.used[n], e)
			}
			off = e.end()
			at++
			continue
		}
		to := end
		if at < len(o.extents) {
			to = min(end, o.extents[at].span.Offset)
		}
		e := &extent{span: s.Part(off, to-off), first: n, last: n, needs: 1}
		o.extents = slices.Insert(o.extents, at, e)
		p.used[n] = append(p.used[n], e)
		p.queue = append(p.queue, e)
		p.planned += to - off
		o.bytes += to - off
		off = to
		at++
	}
}

// search returns the index of the first extent that ends behind off.
func (o *object) search(off int64) int {
	return sort.Search(len(o.extents), func(i int) bool { return o.extents[i].end() > off })
}

// Sparse returns the number of leading windows that can be fetched by requests of their own. These
// add at most requestsSlack to the requests for everything planned.
func (p *Prefetcher) Sparse() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	slack := requestsSlack * float64(p.planned) / aimRequest
	for n := range p.windows {
		for _, e := range p.used[n] {
			if e.first == n && e.buffer == nil && p.objects[e.span.Object].bytes > smallObject {
				slack--
			}
		}
		if slack < 0 {
			return n
		}
	}
	return len(p.windows)
}

// first reports whether the first batch needs window n.
func (p *Prefetcher) first(n int) bool { return p.windows[n].begin < p.options.Lead }

// Open starts to send requests. The first exact windows share no requests with later ones, so that
// their bytes arrive early.
func (p *Prefetcher) Open(exact int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gate {
		return
	}
	p.gate, p.exact = true, exact
	for p.exact < len(p.windows)-1 && p.first(p.exact) {
		p.exact++ // the first batch waits for this window too
	}
	p.pump()
	p.changed.Broadcast()
}

// End declares the plan complete.
func (p *Prefetcher) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.complete = true
	p.pump()
	p.changed.Broadcast()
}

// Stop wakes every goroutine that waits for a plan.
func (p *Prefetcher) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	p.changed.Broadcast()
}

// AwaitSpace waits until more may be planned. It returns false after Stop.
func (p *Prefetcher) AwaitSpace() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.full() && p.foreseen(p.front()) && p.wanted <= p.indexed && !p.stopped {
		p.changed.Wait()
	}
	return !p.stopped
}

// full reports whether the planned bytes, with the gaps between them, reach the limit.
func (p *Prefetcher) full() bool {
	toCome := p.planned - p.useful
	if p.joinWindows == 0 {
		toCome *= 2 // at worst, half of a buffer is gaps
	}
	return toCome+p.buffered >= p.room()
}

// front returns the window of the next request.
func (p *Prefetcher) front() int {
	p.skip()
	if len(p.queue) == 0 {
		return len(p.windows)
	}
	return p.queue[0].first
}

// foreseen reports whether the windows are planned that a request of window n may serve.
func (p *Prefetcher) foreseen(n int) bool {
	return p.ahead == 0 || p.complete || len(p.windows)-n > p.ahead
}

// room returns the bound of the bytes of buffers. If requests are split, their memory and that of
// the pieces differ in size. So some memory must be free, or the pool unmaps what it needs next:
// that took 0.8 s of processor time for 2 GB.
func (p *Prefetcher) room() int64 {
	if p.ahead > 0 {
		return p.options.Limit / 8 * 7
	}
	return p.options.Limit
}

// Over reports whether the plan has reached the limit.
func (p *Prefetcher) Over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.full()
}

// Await waits until all positions before to are planned.
func (p *Prefetcher) Await(to int64, w Waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if to > p.wanted {
		p.wanted = to
		p.changed.Broadcast()
	}
	began := time.Now()
	for p.indexed < to && !p.complete && !p.stopped {
		w.Pause()
		p.changed.Wait()
		w.Resume()
	}
	p.counts.Index += time.Since(began)
}

// Done declares that batch seq needs its bytes no more.
func (p *Prefetcher) Done(seq int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished[seq] = true
	for p.finished[p.watermark] {
		delete(p.finished, p.watermark)
		p.watermark++
	}
	for !p.keep && len(p.open) > 0 && p.windows[p.open[0]].until <= p.watermark*p.options.Batch {
		p.release(p.open[0])
		p.open = p.open[1:]
	}
	p.pump()
	p.changed.Broadcast()
}

// release drops the extents that no window but n needs.
func (p *Prefetcher) release(n int) {
	for _, e := range p.used[n] {
		if e.needs--; e.needs > 0 {
			continue
		}
		o := p.objects[e.span.Object]
		at := o.search(e.span.Offset)
		o.extents = slices.Delete(o.extents, at, at+1)
		o.bytes -= e.span.Bytes
		if len(o.extents) == 0 {
			delete(p.objects, e.span.Object)
		}
		p.planned -= e.span.Bytes
		e.gone = true
		if b := e.buffer; b != nil {
			p.useful -= e.span.Bytes
			if b.users--; b.users == 0 && b.running == 0 {
				p.free(b)
			}
		}
	}
	delete(p.used, n)
}

func (p *Prefetcher) free(b *buffer) {
	p.buffered -= b.size()
	if b.pooled.slab != nil {
		p.pool.put(b.pooled)
	}
	b.mem, b.pooled = nil, memory{}
}

// bytes implements chunk.ReadAhead. It reports waits to w.
func (p *Prefetcher) bytes(ctx context.Context, object string, off, n int64, w Waiter) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.gate && !p.stopped {
		began := time.Now()
		w.Pause()
		p.changed.Wait()
		w.Resume()
		p.counts.Waited += time.Since(began)
	}
	e := p.find(object, off, n)
	if e == nil || p.stopped {
		p.counts.Direct++
		return nil, nil
	}
	if e.buffer == nil {
		p.start(p.grow(e))
	}
	b := e.buffer
	from, to := off-b.off, off-b.off+n
	if b.err == nil && !b.has(from, to) {
		if err := p.waitFor(ctx, b, from, to, w); err != nil {
			return nil, err
		}
	}
	if b.err != nil {
		if errs.OfSample(b.err) {
			return nil, nil // the failure may concern a neighbour: the sample reads its own bytes
		}
		return nil, b.err
	}
	return b.mem[from:to:to], nil
}

// find returns the extent that holds n bytes at off, or nil.
func (p *Prefetcher) find(object string, off, n int64) *extent {
	o := p.objects[object]
	if o == nil {
		return nil
	}
	at := o.search(off)
	if at == len(o.extents) || o.extents[at].span.Offset > off || o.extents[at].end() < off+n {
		return nil
	}
	return o.extents[at]
}

// ReadAhead returns access for one goroutine, whose waits go to w.
func (p *Prefetcher) ReadAhead(w Waiter) chunk.ReadAhead { return readAhead{p, w} }

type readAhead struct {
	prefetcher *Prefetcher
	waiter     Waiter
}

// Bytes implements chunk.ReadAhead.
func (p readAhead) Bytes(ctx context.Context, object string, off, n int64) ([]byte, error) {
	return p.prefetcher.bytes(ctx, object, off, n, p.waiter)
}
